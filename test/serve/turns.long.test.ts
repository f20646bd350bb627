import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { openThreadSessions, type TurnProgram } from '@signalbox/worker/internal';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isRunning } from '../support/processes.ts';
import { type ServeStage, startServeStage } from '../support/serve/served-agent.ts';
import { ends, pidOf, waits } from '../support/serve/turns.ts';

let stage: ServeStage;
const wait = { timeoutMs: 20_000 };

beforeAll(async () => {
  stage = await startServeStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

test('After five failures the message is a dead letter with what the program wrote last, and the sender is told.', async () => {
  await using rosa = await stage.serve('echo "no more money" >&2; exit 3', { random: () => 0 });
  const outcome = await stage.walt.request('rosa', 'task', 'buy it', wait);
  expect(outcome.status).toBe('undeliverable');
  await using operator = await connectBroker({
    ...{ url: stage.broker.url, token: await stage.broker.operatorToken(), agent: 'operator' },
  });
  const { messages } = await operator.admin('dead_list', {});
  expect(JSON.stringify(messages)).toContain('its program ended with exit code 3: no more money');
  const failed = { outcome: 'failed', code: 3, output: 'no more money\n' };
  await expect
    .poll(() => ends(rosa.events))
    .toMatchObject([1, 2, 3, 4, 5].map((turn) => ({ ...failed, turn })));
  const attempts = rosa.events.flatMap((one) => (one.event === 'turn_started' ? one.messages : []));
  expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5]);
});

test('A turn goes on while the broker is restarted, and its reply is stored once.', async () => {
  await using own = await startServeStage();
  const file = join(own.directory, 'restarted');
  await using rosa = await own.serve(waits(file));
  const asked = own.walt.request('rosa', 'ask', 'still there?', wait);
  const pid = await pidOf(file);
  await own.broker.restart();
  await expect.poll(() => own.walt.state.name).toBe('ready');
  await writeFile(`${file}.go`, '');
  expect(await asked).toMatchObject({ status: 'completed', reply: { json: 'done' } });
  expect(isRunning(pid)).toBe(false);
  await expect.poll(() => ends(rosa.events)).toMatchObject([{ outcome: 'answered' }]);
  expect(rosa.events.filter(({ event }) => event === 'turn_started')).toHaveLength(1);
});

test('An output of 100 MB is a reply of its end, which says how much is missing.', async () => {
  await using _rosa = await stage.serve("head -c 100000000 /dev/zero | tr '\\0' 'x'; echo; echo the end");
  const outcome = await stage.walt.request('rosa', 'ask', 'everything', wait);
  const text = String(outcome.status === 'completed' && outcome.reply.json);
  expect(text).toMatch(/^\[100000001 bytes before this were cut off\]\nthe end\n$/);
});

/** A program that keeps sessions: it prints the one that it goes on with, and says which are gone. */
const withSessions: TurnProgram = {
  command: ({ argv, text, session }) => ({ argv, stdin: text, env: { SESSION: session ?? 'new' } }),
  answer: ({ stdout }) => ({ text: stdout.trim(), session: 's1' }),
  isSessionLost: ({ stderr }) => stderr.includes('gone'),
};

test('A turn goes on with the session of its thread, also in the next process; one that is gone is begun anew at once.', async () => {
  const gone = join(stage.directory, 'gone');
  const script = `[ -e '${gone}' ] && [ "$SESSION" != new ] && { echo gone >&2; exit 1; }; echo "$SESSION"`;
  const ask = async (thread: string) => {
    const outcome = await stage.walt.request('rosa', 'ask', 'go on', { ...wait, thread });
    return outcome.status === 'completed' && outcome.reply.json;
  };
  const sessions = await openThreadSessions(join(stage.directory, 'rosa.json'));
  {
    await using _first = await stage.serve(script, { turns: withSessions, sessions });
    expect([await ask('t1'), await ask('t1'), await ask('t2')]).toEqual(['new', 's1', 'new']);
  }
  const again = await openThreadSessions(join(stage.directory, 'rosa.json'));
  await using rosa = await stage.serve(script, { turns: withSessions, sessions: again });
  expect(await ask('t1')).toBe('s1');
  await writeFile(gone, '');
  expect(await ask('t1')).toBe('new');
  expect(rosa.events.filter(({ event }) => event === 'warning')).toMatchObject([{ code: 'session_lost' }]);
  expect(ends(rosa.events)).toMatchObject([{ outcome: 'answered' }, { outcome: 'answered' }]);
});
