import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { brokerFiles } from '@signalbox/broker';
import { connectBroker } from '@signalbox/client';
import { readCalls } from '@signalbox/client/operator';
import { RoleToolAllowlist, startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { startEndpoint } from '../support/mcp-host/http-endpoint.ts';
import { startJournaledStack } from '../support/orchestrator/journaled-stack.ts';
import { callError } from '../support/orchestrator/requests.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const count = 'mcp_counter__count';
const gate = 'mcp_counter__gate';
const perMinute = (calls: number) => ({ calls, windowMs: 60_000 });

test('a worker that has used up its budget is told when to call again, and its call reaches no server', async () => {
  const clock = { now: 0 };
  await using stack = await startToolStack({
    allowlist: RoleToolAllowlist.fromEntries([['worker', [count]]]),
    budgets: { perWorker: perMinute(2), roles: { builder: perMinute(1) } },
    monotonic: () => clock.now,
  });
  const [rosa, walt] = [await stack.client('rosa'), await stack.client('walt')];
  const bob = await stack.client('bob', 'builder');
  // Calls that the allowlist refuses cost nothing. Calls with unreadable arguments do.
  expect(await callError(rosa, gate)).toMatchObject({ code: 'permission_denied' });
  expect(await callError(rosa, count)).toBeUndefined();
  expect(await callError(rosa, count, [] as never)).toMatchObject({ code: 'invalid_arguments' });
  expect(await callError(rosa, count)).toEqual({
    code: 'quota_exceeded',
    message: "'rosa' has used up the budget of 2 calls in 60 s",
    category: 'transient',
    retryable: true,
    may_have_run: false,
    retry_after_seconds: 60,
    hint: 'This call did not run. Make fewer calls.',
  });
  expect(await callError(walt, count)).toBeUndefined();
  expect([await callError(bob, count), (await callError(bob, count))?.code]).toEqual([
    undefined,
    'quota_exceeded',
  ]);
  expect(stack.ran('count').filter(({ at }) => at === 'start')).toHaveLength(3);
  clock.now = 60_000;
  expect(await callError(rosa, count)).toBeUndefined();
  // A new budget holds at once, for what was called under the old one too.
  stack.orchestrator.setPolicy({ budgets: { perRole: { worker: perMinute(1) } } });
  expect([await callError(rosa, count), await callError(walt, count)]).toMatchObject([
    undefined,
    {
      message: expect.stringContaining(
        "the workers of role 'worker' have together used up the budget of 1 call",
      ),
    },
  ]);
  const nonsense = { perWorker: { calls: 0, windowMs: 1 } };
  expect(() => stack.orchestrator.setPolicy({ budgets: nonsense, serverConcurrency: {} })).toThrow(
    expect.objectContaining({ code: 'bad_config' }),
  );
  expect(() => stack.orchestrator.setPolicy({ budgets: {}, serverConcurrency: { counter: 0 } })).toThrow(
    'concurrency.servers.counter',
  );
  expect((await callError(rosa, count))?.code).toBe('quota_exceeded');
});

test('a call that is answered from the cache counts too', async () => {
  let asked = 0;
  const handler = createMcpHandler(() => {
    const server = new Server({ name: 'prices', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', () => ({
      tools: [{ name: 'price', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }],
    }));
    server.setRequestHandler('tools/call', () => {
      asked++;
      return { content: [{ type: 'text', text: '7' }], _meta: { ttlMs: 60_000 } };
    });
    return server;
  });
  await using endpoint = await startEndpoint((request) => handler.fetch(request));
  await using stack = await startToolStack({
    servers: { prices: { type: 'http', url: endpoint.url } },
    budgets: { perWorker: perMinute(2) },
  });
  const rosa = await stack.client('rosa');
  const codes: (string | undefined)[] = [];
  for (let n = 0; n < 3; n++) codes.push((await callError(rosa, 'mcp_prices__price'))?.code);
  expect(codes).toEqual([undefined, undefined, 'quota_exceeded']);
  expect(asked).toBe(1);
  await handler.close();
});

test('a call that never got its turn does not count', async () => {
  await using stack = await startToolStack({
    budgets: { perWorker: perMinute(3) },
    concurrency: { perWorker: 1, waitingPerWorker: 1 },
  });
  const rosa = await stack.client('rosa');
  const opener = `${stack.directory}/open`;
  const open = [1, 2].map(() => callError(rosa, gate, { file: opener }));
  await expect.poll(() => stack.ran('gate')).toHaveLength(1);
  await expect.poll(() => stack.orchestrator.inFlight).toBe(2);
  for (const n of [1, 2, 3]) {
    expect((await callError(rosa, count, { n }))?.message).toContain('the queue of');
  }
  await writeFile(opener, '');
  expect(await Promise.all(open)).toEqual([undefined, undefined]);
  expect(await callError(rosa, count)).toBeUndefined();
  expect((await callError(rosa, count))?.message).toContain('the budget of 3 calls');
});

test('what was used of a budget outlives the orchestrator: calls that ran, wrong arguments, and calls that it did not report', async () => {
  const budgets = { perWorker: perMinute(5), roles: { free: { calls: 99, windowMs: 1 } } };
  const roles = ['worker', 'free'].map((role): [string, string[]] => [role, ['*']]);
  const allowlist = RoleToolAllowlist.fromEntries(roles);
  await using stack = await startJournaledStack({ budgets, allowlist });
  const operator = await stack.client('operator', 'operator');
  const [rosa, free] = [await stack.client('rosa'), await stack.client('fred', 'free')];
  expect(await callError(rosa, count)).toBeUndefined();
  expect(await callError(rosa, 'mcp_counter__echo')).toBeUndefined();
  for (const _ of [1, 2])
    expect(await callError(rosa, count, [] as never)).toMatchObject({ code: 'invalid_arguments' });
  expect(await callError(free, count)).toBeUndefined();
  const uses = async () => (await readCalls(operator, 'orchestrator', { running: true })).budgets;
  const before = await uses();
  expect(before).toMatchObject([{ agent: 'rosa', used: 4, calls: 5 }]);
  await stack.orchestrator.stop();
  const { url, tokenOf } = stack.broker;
  const { host, journal } = stack;
  // These two began and were not reported, as at kill -9; the second one is of an agent without a budget.
  const begun = { requestId: 'r9', tool: count, inbox: 'any', lifetimeMs: 60_000 };
  const startedAt = Date.now();
  for (const who of [
    { agent: 'rosa', role: 'worker' },
    { agent: 'fred', role: 'free' },
  ])
    await journal.start({ ...begun, ...who, receivedAt: startedAt, startedAt });
  const token = await tokenOf('orchestrator', 'orchestrator');
  await using client = await connectBroker({ url, token, agent: 'orchestrator' });
  const refused = { code: 'call_refused', name: count, outcome: 'permission_denied', detail: '' } as const;
  await client.audit('b9', [{ ...refused, agent: 'rosa', role: 'worker', request_id: 'r9' }]);
  const logged: Record<string, unknown>[] = [];
  const policy = wholePolicy({ budgets, allowlist });
  await using _next = await startOrchestrator({
    ...{ client, host, journal, policy, log: (event: Record<string, unknown>) => logged.push(event) },
  });
  expect(await uses()).toMatchObject([{ agent: 'rosa', used: 5, calls: 5 }]);
  expect(await callError(rosa, count)).toMatchObject({ code: 'quota_exceeded' });
  expect(logged.filter(({ event }) => event === 'budgets_not_read')).toEqual([]);
});

test('an orchestrator that starts reads again what was used if the connection is lost meanwhile', async () => {
  const budgets = { perWorker: perMinute(1) };
  await using stack = await startJournaledStack({ budgets });
  const rosa = await stack.client('rosa');
  expect(await callError(rosa, count)).toBeUndefined();
  await stack.orchestrator.stop();
  await using relay = await startRelay(stack.broker.port);
  const token = await stack.broker.tokenOf('orchestrator', 'orchestrator');
  await using client = await connectBroker({ url: relay.url, token, agent: 'orchestrator' });
  const { host, journal } = stack;
  const list = journal.list.bind(journal);
  Object.assign(journal, {
    // The calls of the audit log are read next.
    list: async (options: Parameters<typeof list>[0]) => {
      const listed = await list(options);
      await expect.poll(() => client.state.name).toBe('ready');
      relay.cut();
      return listed;
    },
  });
  const logged: Record<string, unknown>[] = [];
  const policy = wholePolicy({ budgets });
  await using _next = await startOrchestrator({
    ...{ client, host, journal, policy, log: (event: Record<string, unknown>) => logged.push(event) },
  });
  expect(await callError(rosa, count)).toMatchObject({ code: 'quota_exceeded' });
  expect(logged.filter(({ event }) => event === 'budgets_not_read')).toEqual([]);
});

/** Starts a port in front of a broker's, all of whose connections can be cut. */
async function startRelay(port: number) {
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        near.destroy();
        far.destroy();
      });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of open) socket.destroy();
    open.clear();
  };
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    async [Symbol.asyncDispose]() {
      server.close();
      cut();
      await once(server, 'close');
    },
  };
}

test('a part of the audit log that cannot be read hides nothing of the others from budgets', async () => {
  const budgets = { perWorker: perMinute(5) };
  await using stack = await startToolStack({ budgets });
  const operator = await stack.client('operator', 'operator');
  const rosa = await stack.client('rosa');
  expect(await callError(rosa, count)).toBeUndefined();
  expect(await callError(rosa, 'mcp_counter__cuont')).toMatchObject({ code: 'tool_not_found' });
  await stack.orchestrator.stop();
  // A read writes the events that wait.
  await operator.admin('audit', { since: 0 });
  const { url, dataDir, tokenOf } = stack.broker;
  const file = new Database(brokerFiles(dataDir).audit);
  file.prepare('UPDATE audit_refusal SET entry = ?').run('{"reported_by":"orchestrator"}');
  file.close();
  const token = await tokenOf('orchestrator', 'orchestrator');
  await using client = await connectBroker({ url, token, agent: 'orchestrator' });
  const logged: Record<string, unknown>[] = [];
  const log = (event: Record<string, unknown>) => logged.push(event);
  await using _next = await startOrchestrator({
    ...{ client, host: stack.host, policy: wholePolicy({ budgets }), log },
  });
  expect(await readCalls(operator, 'orchestrator', { running: true })).toMatchObject({
    budgets: [{ agent: 'rosa', used: 1 }],
  });
  expect(logged.filter(({ event }) => event === 'budgets_not_read')).toHaveLength(1);
});
