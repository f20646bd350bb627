import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { issueToken } from '@signalbox/client/operator';
import { addJournal, beginBackup, finishBackup } from '@signalbox/client/operator/internal';
import { restoreBackup, verifyBackup } from '@signalbox/daemon/backup';
import { startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { openSqliteJournal } from '@signalbox/store/journal';
import { startTestBroker, tempDir } from '@signalbox/testing';
import { expect, test, vi } from 'vitest';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const slow = 'mcp_counter__slow';
const count = 'mcp_counter__count';
/** Agents to which messages flow: what one sender may have waiting for one recipient is soon reached. */
const sinks = 10;

test('A backup that is made while messages flow and calls run is whole: it holds all that had a receipt, and runs no call again.', async () => {
  await using directory = await tempDir();
  await using journal = await openSqliteJournal({ file: join(directory.path, 'journal.db') });
  await using stack = await startToolStack({ journal, drainMs: 1 });
  const operator = await stack.client('operator');
  const runs = () => stack.ran('count').flatMap(({ at, args }) => (at === 'start' ? [args.label] : []));
  for (let n = 0; n < sinks; n++) await issueToken(operator, { agent: `sink-${n}`, role: 'worker' });

  const receipts: string[] = [];
  let isFlowing = true;
  const flowing = [
    (async () => {
      const ann = await stack.client('ann');
      for (let n = 0; isFlowing; n++) {
        const body = { n, text: 'x'.repeat(2000) };
        const to = `sink-${n % sinks}`;
        receipts.push((await ann.deliver({ to, kind: 'note', id: `n${n}`, body })).id);
      }
    })(),
    (async () => {
      const rosa = await stack.executor('rosa');
      for (let n = 0; isFlowing; n++)
        await rosa.execute({ name: count, arguments: { label: `flowing-${n}` } });
    })(),
  ];
  // It runs through all backups, and is in none of them more than started.
  const walt = await stack.clientAt('walt');
  const body = { op: 'call', tool: slow, arguments: { ms: 60_000, label: 'running' } };
  await walt.deliver({ to: 'orchestrator', kind: 'mcp_request', id: 'running', body });
  await vi.waitFor(() => expect(stack.ran('slow')).toHaveLength(1));

  const backups: { path: string; had: string[] }[] = [];
  for (let n = 1; n <= 3; n++) {
    const path = join(directory.path, `backup-${n}`);
    await vi.waitFor(() => expect(receipts.length).toBeGreaterThan(50 * n));
    const had = [...receipts];
    const begun = await beginBackup(operator, path);
    await finishBackup(operator, await addJournal(operator, 'orchestrator', begun));
    backups.push({ path, had });
  }
  isFlowing = false;
  await Promise.all(flowing);
  expect(new Set(runs()).size).toBe(runs().length);
  await stack.orchestrator.stop();

  for (const { path, had } of backups) {
    const { problems, manifest, contents } = await verifyBackup(path);
    expect(problems).toEqual([]);
    expect(manifest).toMatchObject({ broker_id: stack.broker.broker.brokerId, journal: { id: journal.id } });
    expect(contents!.messages).toBeGreaterThanOrEqual(had.length);
    expect(contents!.calls).toBeGreaterThan(0);
    const dataDir = `${path}-restored`;
    const { brokerId } = await restoreBackup({ backup: path, dataDir, revokeTokens: false, now: Date.now() });
    await using broker = await startTestBroker({ dataDir, durability: 'process' });
    expect(broker.broker.brokerId).toBe(brokerId);
    expect(brokerId).not.toBe(stack.broker.broker.brokerId);

    await using reader = await connectBroker({
      url: broker.url,
      token: await broker.operatorToken(),
      agent: 'operator#reads',
    });
    const waiting = new Set<string>();
    for (let n = 0; n < sinks; n++) {
      for (let after = 0; ; ) {
        const page = await reader.peek({ address: `sink-${n}`, after, limit: 1000 });
        if (page.length === 0) break;
        for (const { id } of page) waiting.add(id);
        after = page.at(-1)!.seq!;
      }
    }
    expect(had.filter((id) => !waiting.has(id))).toEqual([]);

    const before = runs();
    await using again = await openSqliteJournal({ file: join(dataDir, 'journal.db') });
    expect(again.id).toBe(journal.id);
    await using client = await connectBroker({
      url: broker.url,
      token: await broker.token('orchestrator', 'orchestrator'),
      agent: 'orchestrator',
    });
    await using _orchestrator = await startOrchestrator({
      client,
      host: stack.host,
      policy: wholePolicy(),
      journal: again,
      drainMs: 1,
    });
    await vi.waitFor(async () => {
      const replies = await reader.peek({ address: 'walt' });
      expect(
        replies.map(({ correlation_id, body }) => [correlation_id, JSON.parse(body ?? '').error?.code]),
      ).toEqual([['running', 'outcome_unknown']]);
    });
    // Its tokens are those of the backup. A new call runs, and nothing else ran.
    await using rosa = await connectBroker({
      url: broker.url,
      token: await stack.broker.tokenOf('rosa'),
      agent: 'rosa#later',
    });
    const call = { op: 'call', tool: count, arguments: { label: path } };
    const outcome = await rosa.request('orchestrator', 'mcp_request', call, { timeoutMs: 10_000 });
    expect(outcome).toMatchObject({
      reply: { json: { result: { structuredContent: { n: expect.any(Number) } } } },
    });
    expect(runs()).toEqual([...before, path]);
    expect(stack.ran('slow').filter(({ at }) => at === 'start')).toHaveLength(1);
  }
});
