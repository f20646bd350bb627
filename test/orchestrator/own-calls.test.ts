import { writeFile } from 'node:fs/promises';
import { type BrokerClient, connectBroker, requestAddress } from '@signalbox/client';
import { RoleToolAllowlist, startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { callStatusSchema, callsReplySchema } from '@signalbox/protocol';
import { expect, test, vi } from 'vitest';
import { startJournaledStack } from '../support/orchestrator/journaled-stack.ts';
import { ask, askData } from '../support/orchestrator/requests.ts';
import type { ToolStackOptions } from '../support/orchestrator/tool-stack.ts';

const count = 'mcp_counter__count';
const echo = 'mcp_counter__echo';
const gate = 'mcp_counter__gate';

async function ownCalls(client: BrokerClient, more: object = {}) {
  return (await askData(client, { op: 'own_calls', ...more }, callsReplySchema)).calls;
}

const status = (client: BrokerClient, requestId: string) =>
  askData(client, { op: 'status', request_id: requestId }, callStatusSchema);

/** A stack with a journal, whose orchestrator can be replaced by another one on the same journal. */
async function startCallsStack(options: ToolStackOptions = {}) {
  await using starting = new AsyncDisposableStack();
  const stack = starting.use(await startJournaledStack(options));
  const started = starting.move();
  const { broker, host, journal } = stack;
  return {
    ...stack,
    async replaceOrchestrator() {
      await stack.orchestrator.stop();
      const token = await broker.token('orchestrator', 'orchestrator');
      const client = started.use(await connectBroker({ url: broker.url, token, agent: 'orchestrator' }));
      started.use(await startOrchestrator({ client, host, policy: wholePolicy(), journal }));
    },
    async ownCalls(agent: string, more: object = {}) {
      return await ownCalls(await stack.client(agent), more);
    },
    async status(agent: string, requestId: string) {
      return await status(await stack.client(agent), requestId);
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

test('an agent lists its own calls: those that wait, run or ended, and nobody else’s', async () => {
  await using stack = await startCallsStack({ concurrency: { global: 1 } });
  const rosa = await stack.executor('rosa');
  const walt = await stack.executor('walt');
  await rosa.execute({ name: echo }, { requestId: 'quick' });
  await walt.execute({ name: count }, { requestId: 'his' });
  const file = `${stack.directory}/open`;
  const running = rosa.execute({ name: gate, arguments: { file } }, { requestId: 'running' });
  await expect.poll(() => stack.ran('gate').length).toBe(1);
  const queued = rosa.execute({ name: count }, { requestId: 'queued' });
  await expect.poll(async () => (await stack.ownCalls('rosa')).length).toBe(3);
  expect(await stack.ownCalls('rosa')).toMatchObject([
    { request_id: 'queued', agent: 'rosa', tool: count, state: 'queued' },
    { request_id: 'running', agent: 'rosa', tool: gate, state: 'running' },
    { request_id: 'quick', agent: 'rosa', tool: echo, state: 'finished', outcome: 'ok', reply_kept: true },
  ]);
  const ids = async (more: object) => (await stack.ownCalls('rosa', more)).map((call) => call.request_id);
  expect(await ids({ running: true })).toEqual(['queued', 'running']);
  expect(await ids({ limit: 1 })).toEqual(['queued']);
  expect(await ids({ since: Date.now() + 60_000 })).toEqual([]);
  expect((await stack.ownCalls('walt')).map((call) => call.request_id)).toEqual(['his']);
  const tooMany = await ask(await stack.client('rosa'), { op: 'own_calls', limit: 101 });
  expect(tooMany).toMatchObject({ error: { code: 'invalid_arguments' } });
  await writeFile(file, '');
  await Promise.all([running, queued]);
});

test('another role of the agent sees only calls of tools that it may use', async () => {
  await using stack = await startCallsStack();
  const rosa = await stack.executor('rosa');
  await rosa.execute({ name: echo }, { requestId: 'e' });
  await rosa.execute({ name: count }, { requestId: 'c' });
  stack.orchestrator.setPolicy({ allowlist: RoleToolAllowlist.fromEntries([['reader', [echo]]]) });
  const { url, token } = stack.broker;
  await using reader = await connectBroker({
    url,
    token: await token('rosa', 'reader'),
    agent: requestAddress('rosa'),
  });
  expect((await ownCalls(reader)).map((call) => call.request_id)).toEqual(['e']);
  expect(await status(reader, 'c')).toEqual({ state: 'unknown' });
});

test('the reply of a safe call survives the orchestrator if it took 10 s or its caller had gone, else not', async () => {
  let passed = 0;
  const monotonic = () => performance.now() + passed;
  await using stack = await startCallsStack({ monotonic, repeat: { safe: [gate] } });
  const rosa = await stack.executor('rosa');
  const open = (name: string) => `${stack.directory}/${name}`;
  const start = (name: string, executor = rosa) =>
    executor.execute({ name: gate, arguments: { file: open(name) } }, { requestId: name });
  const late = start('late');
  await expect.poll(() => stack.ran('gate').length).toBe(1);
  passed += 12_000;
  await writeFile(open('late'), '');
  await late;
  const quick = start('quick');
  await writeFile(open('quick'), '');
  await quick;
  const leaving = await stack.executor('rosa');
  void start('left', leaving);
  await expect.poll(() => stack.ran('gate').filter(({ at }) => at === 'start').length).toBe(3);
  await leaving.close();
  await writeFile(open('left'), '');
  const key = { agent: 'rosa', requestId: 'left' };
  await vi.waitFor(async () => expect((await stack.journal.find(key))?.end).toBeDefined());

  await stack.replaceOrchestrator();
  const reply = { result: { structuredContent: { highWater: 1 } } };
  for (const id of ['late', 'left']) {
    expect(await stack.status('rosa', id), id).toMatchObject({ state: 'finished', outcome: 'ok', reply });
    expect(await stack.status('walt', id)).toEqual({ state: 'unknown' });
  }
  expect(await stack.status('rosa', 'quick')).toEqual({ state: 'unknown' });
  expect(await stack.ownCalls('rosa')).toMatchObject([
    { request_id: 'left', state: 'finished', outcome: 'ok', reply_kept: true },
    { request_id: 'late', state: 'finished', outcome: 'ok', reply_kept: true },
  ]);
});
