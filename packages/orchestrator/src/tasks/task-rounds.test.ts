import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteJournal } from '@signalbox/store/journal';
import { expect, test } from 'vitest';
import { CallRegistry } from '../calls/call-registry.ts';
import { TaskRounds } from './task-rounds.ts';

const agent = 'rosa';
const call = (requestId: string) => ({
  ...{ agent, requestId, role: 'worker', tool: 'mcp_counter__count' },
  ...{ receivedAt: 100, inbox: 'b-1 orchestrator', lifetimeMs: 0 },
});
const reply = '{"input_required":{"resultType":"input_required"}}';

async function openRounds() {
  await using opening = new AsyncDisposableStack();
  const path = await mkdtemp(join(tmpdir(), 'signalbox-tasks-'));
  opening.defer(() => rm(path, { recursive: true }));
  const journal = opening.use(await openSqliteJournal({ file: join(path, 'journal.db') }));
  const opened = opening.move();
  return {
    journal,
    rounds: new TaskRounds({ registry: new CallRegistry(Date.now), journal }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

test('A task that another process took on waits until its request is settled, and then says the truth about whether it ran.', async () => {
  await using opened = await openRounds();
  const { journal, rounds } = opened;
  for (const id of ['kept', 'started', 'settled', 'lost']) await journal.keep(call(id));
  for (const id of ['started', 'lost']) await journal.start({ ...call(id), startedAt: 150 });
  for (const id of ['settled', 'lost']) journal.settle({ agent, requestId: id }, 'found');
  await expect.poll(async () => (await journal.find({ agent, requestId: 'lost' }))?.isSettled).toBe(true);
  const outcomes: unknown[] = [];
  for (const requestId of ['kept', 'started', 'settled', 'lost', 'never']) {
    const round = await rounds.find({ agent, requestId });
    outcomes.push(round && (round.end?.outcome ?? 'waits'));
  }
  expect(outcomes).toEqual(['waits', 'outcome_unknown', 'tool_timeout', 'outcome_unknown', undefined]);
});

test('The newest round of a task is found behind any number of others, and those that come later, too.', async () => {
  await using opened = await openRounds();
  const { journal, rounds } = opened;
  const end = async (requestId: string) => {
    await journal.record(call(requestId), {
      outcome: 'input_required',
      finishedAt: 200,
      reply,
      isLate: true,
    });
    journal.settle({ agent, requestId }, 'waits');
  };
  const newest = async () => (await rounds.task({ agent, requestId: 't' }))?.number;
  for (const id of ['t', 't.1', 't.2']) await end(id);
  expect([await newest(), await newest()]).toEqual([2, 2]);
  await end('t.3');
  expect(await newest()).toBe(3);
  await end('t.5');
  expect(await newest()).toBe(3);
  expect(await rounds.task({ agent, requestId: 't.1' })).toBeUndefined();
});
