import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { callRecordSchema, SignalboxError } from '@signalbox/protocol';
import { type Journal, openSqliteJournal } from '@signalbox/store/journal';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { nonstandardServer, toolNamed } from '../support/mcp-host/test-servers.ts';
import { startJournaledStack } from '../support/orchestrator/journaled-stack.ts';
import { ask, statusOf, waiting } from '../support/orchestrator/outcomes.ts';
import { startToolStack, type ToolStack } from '../support/orchestrator/tool-stack.ts';

const count = 'mcp_counter__count';
const crash = 'mcp_counter__crash';
const echo = 'mcp_counter__echo';
const gate = 'mcp_counter__gate';
const slow = 'mcp_counter__slow';

/** Another orchestrator on the same inbox and MCP servers, with another journal or none. */
async function takeOver({ broker, host }: ToolStack, journal?: Journal) {
  await using starting = new AsyncDisposableStack();
  const token = await broker.token('orchestrator', 'orchestrator');
  const client = starting.use(await connectBroker({ url: broker.url, token, agent: 'orchestrator' }));
  starting.use(await startOrchestrator({ client, host, policy: wholePolicy(), journal, drainMs: 50 }));
  const started = starting.move();
  return { [Symbol.asyncDispose]: () => started.disposeAsync() };
}

test('the status of a call is queued, running, then finished with its reply; to another agent it is unknown', async () => {
  await using stack = await startJournaledStack({ concurrency: { global: 1 } });
  const rosa = await stack.executor('rosa');
  const opener = `${stack.directory}/open`;
  const calls = ['one', 'two'].map((requestId) =>
    rosa.execute({ name: gate, arguments: { file: opener } }, { requestId }),
  );
  await expect.poll(() => statusOf(stack, 'rosa', 'one')).toEqual({ state: 'running' });
  expect(await statusOf(stack, 'rosa', 'two')).toEqual({ state: 'queued' });
  expect(await statusOf(stack, 'walt', 'one')).toEqual({ state: 'unknown' });
  await writeFile(opener, '');
  await Promise.all(calls);
  expect(await statusOf(stack, 'rosa', 'one')).toMatchObject({
    state: 'finished',
    outcome: 'ok',
    reply: { result: { structuredContent: { highWater: 1 } } },
  });
  expect(await statusOf(stack, 'walt', 'one')).toEqual({ state: 'unknown' });
  expect(await statusOf(stack, 'rosa', 'never')).toEqual({ state: 'unknown' });
});

test('operators see the calls of everybody, safe or not; workers are refused', async () => {
  await using stack = await startJournaledStack();
  const rosa = await stack.executor('rosa');
  const walt = await stack.executor('walt');
  const opener = `${stack.directory}/open`;
  await rosa.execute({ name: echo }, { requestId: 'r1' });
  await walt.execute({ name: crash }, { requestId: 'w1' });
  const running = rosa.execute({ name: gate, arguments: { file: opener } }, { requestId: 'r2' });
  await expect.poll(() => stack.ran('gate').length).toBe(1);
  const calls = async (more = {}) => {
    const reply = await ask(stack, 'operator', { op: 'calls', ...more }, 'operator');
    const listed = (reply as { data: { calls: unknown[] } }).data.calls;
    return listed.map((call) => callRecordSchema.parse(call));
  };
  const names = (found: { request_id: string }[]) => found.map(({ request_id }) => request_id);
  const all = await calls();
  expect(names(all)).toEqual(['r2', 'w1', 'r1']);
  expect(all).toMatchObject([
    { agent: 'rosa', tool: gate, server: 'counter', state: 'running' },
    { agent: 'walt', tool: crash, role: 'worker', state: 'finished', outcome: 'outcome_unknown' },
    { agent: 'rosa', tool: echo, state: 'finished', outcome: 'ok' },
  ]);
  expect(names(await calls({ running: true }))).toEqual(['r2']);
  expect(names(await calls({ limit: 1 }))).toEqual(['r2']);
  expect(names(await calls({ since: Date.now() + 60_000 }))).toEqual([]);
  expect(await ask(stack, 'rosa', { op: 'calls' })).toMatchObject({
    error: { code: 'permission_denied', may_have_run: false },
  });
  await writeFile(opener, '');
  await running;
  // The next orchestrator also knows the calls that the journal kept: the unsafe ones.
  await stack.orchestrator.stop();
  await using _next = await takeOver(stack, stack.journal);
  expect(names(await calls())).toEqual(['r2', 'w1']);
  // Its reply goes a little after its delivery was confirmed.
  await expect.poll(() => statusOf(stack, 'rosa', 'r2')).toEqual({ state: 'finished', outcome: 'ok' });
});

test('what was started under another journal is not run again, unless it is safe; later calls run', async () => {
  await using stack = await startJournaledStack({ drainMs: 50 });
  await using directory = await tempDir();
  await using other = await openSqliteJournal({ file: join(directory.path, 'journal.db') });
  const rosa = await stack.executor('rosa');
  const unsafe = rosa.execute({ name: slow, arguments: { ms: 60_000 } }, { requestId: 'unsafe' });
  await expect.poll(() => stack.ran('slow').length).toBe(1);
  // Gives up on the call that runs, as one that dies does.
  await stack.orchestrator.stop();
  const safe = rosa.execute({ name: echo, arguments: { n: 1 } });
  const fresh = rosa.execute({ name: count });
  await expect.poll(() => waiting(stack)).toBe(3);
  await using _next = await takeOver(stack, other);
  const unknown = { error: { code: 'outcome_unknown', may_have_run: true } };
  expect(await unsafe).toMatchObject(unknown);
  expect(await safe).toHaveProperty('result.structuredContent', { n: 1 });
  // It never ran, but nobody here can know that.
  expect(await fresh).toMatchObject(unknown);
  expect(await rosa.execute({ name: count })).toHaveProperty('result.structuredContent', { n: 1 });
  expect(stack.ran('slow').filter(({ at }) => at === 'start')).toHaveLength(1);
});

test('what waited before the first orchestrator ever came is run', async () => {
  await using stack = await startJournaledStack();
  const rosa = await stack.executor('rosa');
  await stack.orchestrator.stop();
  const call = rosa.execute({ name: count });
  await expect.poll(() => waiting(stack)).toBe(1);
  await using _next = await takeOver(stack, stack.journal);
  expect(await call).toHaveProperty('result.structuredContent', { n: 1 });
});

test('a call whose start cannot be written down is not made, and one that needs no journal is', async () => {
  await using directory = await tempDir();
  const real = await openSqliteJournal({ file: join(directory.path, 'journal.db') });
  const reasons: Record<string, Error> = {
    broken: new Error('no disk'),
    full: new SignalboxError('journal_full', 'no room'),
  };
  const room = { isFull: true };
  const failing: Journal = {
    id: real.id,
    isShared: false,
    approvals: real.approvals,
    pins: real.pins,
    keptMs: real.keptMs,
    find: (key) => real.find(key),
    lead: (inbox) => real.lead(inbox),
    keep: (call) => (room.isFull ? Promise.reject(reasons.full) : real.keep(call)),
    failed: real.failed,
    start: ({ requestId }) => Promise.reject(reasons[requestId]),
    finish: (key, end) => real.finish(key, end),
    record: (call, end) => real.record(call, end),
    settle: (key, how) => real.settle(key, how),
    inDoubt: (inbox, after, limit) => real.inDoubt(inbox, after, limit),
    list: (query) => real.list(query),
    listOf: (agent, query) => real.listOf(agent, query),
    claim: (inbox, onFailed) => real.claim(inbox, onFailed),
    bound: (inbox, generation) => real.bound(inbox, generation),
    generation: (inbox) => real.generation(inbox),
    copyTo: (file) => real.copyTo(file),
    [Symbol.asyncDispose]: () => real[Symbol.asyncDispose](),
  };
  await using _closing = failing;
  await using stack = await startToolStack({ journal: failing, repeat: { safe: [gate] } });
  const rosa = await stack.executor('rosa');
  expect(await rosa.execute({ name: count }, { requestId: 'broken' })).toMatchObject({
    error: { code: 'internal', may_have_run: false, retryable: true, cause_chain: ['no disk'] },
  });
  expect(await rosa.execute({ name: count }, { requestId: 'full' })).toMatchObject({
    error: { code: 'storage_full', may_have_run: false, retryable: true, cause_chain: ['no room'] },
  });
  expect(await rosa.execute({ name: echo })).toHaveProperty('result.success', true);
  expect(stack.ran('count')).toEqual([]);

  // A call is a task only from the moment that this is written down.
  const file = join(directory.path, 'open');
  const call = rosa.execute({ name: gate, arguments: { file } }, { requestId: 'task' });
  await expect.poll(() => stack.ran('gate').length).toBe(1);
  const begins = { op: 'task', task_id: 'task', begins: true };
  const begin = () => ask(stack, 'rosa', begins);
  for (let times = 0; times < 2; times++) expect(await begin()).toHaveProperty('error');
  const key = { agent: 'rosa', requestId: 'task' };
  expect(await failing.find(key)).toBeUndefined();
  room.isFull = false;
  const answers = await Promise.all([begin(), begin()]);
  expect(answers).toMatchObject([{ data: { state: 'working' } }, { data: { state: 'working' } }]);
  expect(await failing.find(key)).toMatchObject({ isKept: true });
  await writeFile(file, '');
  expect(await call).toHaveProperty('result.success', true);
});

test('a call that expires before its turn never runs and says so', async () => {
  await using stack = await startJournaledStack({ concurrency: { global: 1 } });
  const rosa = await stack.executor('rosa');
  const opener = `${stack.directory}/open`;
  const running = rosa.execute({ name: gate, arguments: { file: opener } });
  await expect.poll(() => stack.ran('gate').length).toBe(1);
  await rosa.execute({ name: count }, { timeoutMs: 300, requestId: 'expired' });
  await expect
    .poll(() => statusOf(stack, 'rosa', 'expired'))
    .toMatchObject({
      state: 'finished',
      reply: { error: { may_have_run: false } },
    });
  await writeFile(opener, '');
  await running;
  expect(await rosa.execute({ name: count })).toHaveProperty('result.structuredContent', { n: 1 });
});

test('progress that comes after the result reaches nobody', async () => {
  await using directory = await tempDir();
  const list = join(directory.path, 'list');
  await writeFile(list, JSON.stringify({ pages: [[toolNamed('late_progress')]] }));
  await using stack = await startJournaledStack({ servers: { odd: nonstandardServer(list) } });
  const rosa = await stack.executor('rosa');
  const seen: number[] = [];
  for (let i = 0; i < 3; i++) {
    await rosa.execute(
      { name: 'mcp_odd__late_progress' },
      { onProgress: ({ progress }) => seen.push(progress) },
    );
  }
  expect(seen.filter((progress) => progress !== 1)).toEqual([]);
});
