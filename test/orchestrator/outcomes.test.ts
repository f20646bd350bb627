import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { sendOrchestratorRequest } from '@signalbox/client/operator/internal';
import { startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { callRecordSchema, callStatusSchema, SignalboxError, timeSortedId } from '@signalbox/protocol';
import { type Journal, openSqliteJournal } from '@signalbox/store/journal';
import { connectWire, tempDir } from '@signalbox/testing';
import { expect, test, vi } from 'vitest';
import { nonstandardServer, toolNamed } from '../support/mcp-host/test-servers.ts';
import { startJournaledStack } from '../support/orchestrator/journaled-stack.ts';
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

async function ask(stack: ToolStack, agent: string, body: unknown, role?: string): Promise<unknown> {
  const client = await stack.client(agent, role);
  const outcome = await client.request('orchestrator', 'mcp_request', body, { timeoutMs: 10_000 });
  await client.close();
  return outcome.status === 'completed' ? outcome.reply.json : outcome;
}

async function statusOf(stack: ToolStack, agent: string, requestId: string) {
  const reply = await ask(stack, agent, { op: 'status', request_id: requestId });
  return callStatusSchema.parse((reply as { data: unknown }).data);
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

/** Messages in the orchestrator's inbox. */
async function waiting({ broker }: ToolStack): Promise<number> {
  const token = await broker.operatorToken();
  await using operator = await connectBroker({ url: broker.url, token, agent: 'operator#peeks' });
  return (await operator.peek({ address: 'orchestrator' })).length;
}

test('a reply that its requester has no room for stays to be asked for, and others are served meanwhile', async () => {
  await using stack = await startJournaledStack({ broker: { limits: { inbox: { messages: 3 } } } });
  const token = await stack.broker.token('rosa');
  await using full = await connectWire(stack.broker.url, { agent: 'rosa', token });
  const id = () => timeSortedId(Date.now(), Math.random().toString(36).slice(2, 10));
  for (let i = 0; i < 3; i++) {
    full.send({ type: 'deliver', to: 'rosa', id: id(), kind: 'note' }, '{}');
    await full.next('delivered');
  }
  const body = JSON.stringify({ op: 'call', tool: count });
  full.send({ type: 'deliver', to: 'orchestrator', id: 'full', kind: 'mcp_request' }, body);
  await full.next('delivered', { id: 'full' });
  const walt = await stack.executor('walt');
  expect(await walt.execute({ name: echo })).toHaveProperty('result.success', true);
  await expect.poll(() => waiting(stack)).toBe(0);
  expect(await statusOf(stack, 'rosa', 'full')).toMatchObject({
    state: 'finished',
    reply: { result: { structuredContent: { n: 1 } } },
  });
  expect(await stack.journal.find({ agent: 'rosa', requestId: 'full' })).toHaveProperty('end.reply');
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

test("the operator's lists decide what is safe to repeat, over the servers' own claims, everywhere", async () => {
  await using stack = await startJournaledStack({ repeat: { safe: ['mcp_*__crash', slow], never: [echo] } });
  const rosa = await stack.executor('rosa');
  expect((await rosa.execute({ name: crash }, { requestId: 'c' })).error).toMatchObject({
    code: 'mcp_server_unreachable',
    retryable: true,
    may_have_run: true,
  });
  const late = await rosa.execute({ name: slow, arguments: { ms: 60_000 } }, { timeoutMs: 600 });
  expect(late.error).toMatchObject({ code: 'tool_timeout', retryable: true, may_have_run: true });
  await rosa.execute({ name: echo }, { requestId: 'e' });
  await rosa.execute({ name: count }, { requestId: 'n' });
  const journaled = (await stack.journal.list({ limit: 10 })).map(({ requestId }) => requestId);
  expect(journaled).toEqual(['n', 'e']);
  const words = rosa.listTools().map(({ name, _meta }) => [name, _meta?.['signalbox/repeat']]);
  expect(Object.fromEntries(words)).toMatchObject({ [crash]: 'safe', [echo]: 'never', [count]: undefined });
});

test('a cancel and a deadline reach the server long before its tool would end', async () => {
  await using stack = await startJournaledStack();
  const rosa = await stack.executor('rosa');
  const abort = new AbortController();
  const cancelledLines = () => stack.ran('slow').filter(({ at }) => at === 'cancelled').length;
  const cancelled = rosa.execute(
    { name: slow, arguments: { ms: 60_000 } },
    { signal: abort.signal, requestId: 'cancelled' },
  );
  await expect.poll(() => stack.ran('slow').length).toBe(1);
  abort.abort();
  await vi.waitFor(() => expect(cancelledLines()).toBe(1), { interval: 20 });
  expect(await cancelled).toMatchObject({ error: { code: 'cancelled', may_have_run: true } });
  const late = await rosa.execute(
    { name: slow, arguments: { ms: 60_000 } },
    { timeoutMs: 700, requestId: 'late' },
  );
  expect(late).toMatchObject({ error: { code: 'outcome_unknown', may_have_run: true, retryable: false } });
  await vi.waitFor(() => expect(cancelledLines()).toBe(2), { interval: 20 });
  // Either the deadline or its caller, which has the same deadline, ended the call first.
  for (const requestId of ['cancelled', 'late']) {
    expect(await statusOf(stack, 'rosa', requestId)).toMatchObject({
      state: 'finished',
      reply: { error: { may_have_run: true, retryable: false } },
    });
  }
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

test('a call that finds the store full says storage_full to the agent and to the operator, and has not run', async () => {
  await using stack = await startToolStack({ broker: { limits: { store: { bytes: 420_000 } } } });
  const rosa = await stack.executor('rosa');
  const operator = await stack.client('operator', 'operator');
  const large = { text: 'x'.repeat(100_000) };
  for (let i = 0; i < 8; i++) {
    await rosa.client.deliver({ to: 'operator', kind: 'note', body: large }).catch(() => {});
  }
  const full = { code: 'storage_full', category: 'transient', retryable: true, may_have_run: false };
  expect((await rosa.execute({ name: echo, arguments: large })).error).toMatchObject(full);
  const request = { op: 'call', tool: echo, arguments: large } as const;
  const { code, retryable, details } = await sendOrchestratorRequest(operator, 'orchestrator', request, {
    timeoutMs: 5000,
  }).then(
    () => expect.fail('the call got through'),
    (error) => error,
  );
  expect({ code, retryable, ...details }).toMatchObject(full);
  expect(stack.ran('echo')).toEqual([]);
});
