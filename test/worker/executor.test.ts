import { fileURLToPath } from 'node:url';
import { connectBroker, type ServedRequest } from '@signalbox/client';
import type { StdioServerConfig } from '@signalbox/mcp-host';
import { RoleToolAllowlist, startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { toolCallError } from '@signalbox/protocol';
import { compileCache, startTestBroker, type TestBroker } from '@signalbox/testing';
import { McpProxyExecutor } from '@signalbox/worker';
import { expect, test } from 'vitest';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const tool = (name: string) => ({ name, inputSchema: { type: 'object' } });

function enablingServer(): StdioServerConfig {
  const script = fileURLToPath(new URL('../support/worker/enabling-server.ts', import.meta.url));
  return { type: 'stdio', command: process.execPath, args: [script], env: compileCache() };
}

/** An orchestrator of a few lines: it answers manifest requests with what `manifest` returns, and keeps the bodies. */
async function scriptedOrchestrator(broker: TestBroker, manifest: (asked: unknown) => unknown) {
  const token = await broker.token('orchestrator', 'orchestrator');
  const client = await connectBroker({ url: broker.url, token, agent: 'orchestrator' });
  const asked: unknown[] = [];
  const waiters: (() => void)[] = [];
  await client.serve(['mcp_request'], async (request: ServedRequest) => {
    asked.push(request.json);
    for (const wake of waiters.splice(0)) wake();
    return { kind: 'mcp_reply', body: manifest(request.json) };
  });
  const nextAsked = () => new Promise<void>((resolve) => waiters.push(resolve));
  return { client, asked, nextAsked, [Symbol.asyncDispose]: () => client.close() };
}

async function connect(broker: TestBroker, manifestTimeoutMs?: number) {
  const token = await broker.token('w1');
  return McpProxyExecutor.connect({
    url: broker.url,
    token,
    agent: 'w1',
    ...(manifestTimeoutMs !== undefined && { manifestTimeoutMs }),
  });
}

test('a tool that is not in the list is looked for once more, and the orchestrator refuses its call', async () => {
  await using broker = await startTestBroker();
  const manifest = { version: '1', tools: [tool('mcp_a__read'), tool('mcp_a__write')] };
  const refusal = toolCallError('tool_not_found', 'no such tool', { mayHaveRun: false });
  await using orchestrator = await scriptedOrchestrator(broker, (asked) =>
    (asked as { op: string }).op === 'call' ? { error: refusal } : { manifest },
  );
  await using executor = await connect(broker);
  expect(await executor.execute({ name: 'mcp_a__raed' })).toEqual({ error: refusal });
  expect(orchestrator.asked).toMatchObject([
    { op: 'manifest' },
    { op: 'manifest', fresh: true },
    { op: 'call', tool: 'mcp_a__raed' },
  ]);
  await executor.execute({ name: 'mcp_a__read' });
  expect(orchestrator.asked.at(-1)).toMatchObject({ op: 'call', tool: 'mcp_a__read' });
  // A call would wait for the orchestrator for minutes.
  await orchestrator.client.close();
  expect(await executor.execute({ name: 'mcp_a__raed' })).toMatchObject({
    error: {
      code: 'tool_not_found',
      message: expect.stringContaining("'orchestrator' last answered, and it does not answer now"),
      may_have_run: false,
      hint: "The most similar tool you may call is 'mcp_a__read'.",
    },
  });
});

test('executors of one process read a list once for each role, and each of them asks which list its role sees', async () => {
  await using broker = await startTestBroker();
  let version = '1';
  await using orchestrator = await scriptedOrchestrator(broker, (asked) =>
    (asked as { known_version?: string }).known_version === version
      ? { manifest: { version, unchanged: true } }
      : { manifest: { version, tools: [tool(`mcp_a__v${version}`)] } },
  );
  const open = async (agent: string, role = 'worker') =>
    McpProxyExecutor.connect({ url: broker.url, token: await broker.token(agent, role), agent });
  await using opened = new AsyncDisposableStack();
  const names = ['a', 'b', 'c', 'd'];
  const executors = await Promise.all(names.map((name) => open(name)));
  for (const executor of executors) opened.use(executor);
  const known = () => orchestrator.asked.map((asked) => (asked as { known_version?: string }).known_version);
  expect(known()).toEqual([undefined, '1', '1', '1']);
  const [first, second] = executors;
  expect(second!.findTool('mcp_a__v1')).toBe(first!.findTool('mcp_a__v1'));
  opened.use(await open('e', 'reader'));
  expect(known().at(-1)).toBeUndefined();

  version = '2';
  orchestrator.asked.length = 0;
  const body = { event: 'manifest_changed', version };
  for (const { client } of executors)
    await orchestrator.client.deliver({ to: client.address, kind: 'event', ephemeral: true, body });
  await expect.poll(() => executors.map((executor) => executor.version)).toEqual(names.map(() => '2'));
  expect(second!.findTool('mcp_a__v2')).toBe(first!.findTool('mcp_a__v2'));
  expect(known().filter((asked) => asked !== '2')).toEqual(['1']);
});

test('a tool that the call before has enabled can be called at once', async () => {
  await using stack = await startToolStack({ servers: { enabling: enablingServer() }, counter: false });
  const executor = await stack.executor('rosa');
  for (const name of ['first', 'second', 'third']) {
    const tool = `mcp_enabling__${name}`;
    expect(executor.findTool(tool)).toBeUndefined();
    await executor.execute({ name: 'mcp_enabling__enable', arguments: { name } });
    expect(await executor.execute({ name: tool })).toHaveProperty('result.text', name);
  }
  expect(await executor.execute({ name: 'mcp_enabling__fourth' })).toMatchObject({
    error: { code: 'tool_not_found' },
  });
});

test('without an orchestrator connecting fails and says so, and one that comes late is waited for', async () => {
  await using broker = await startTestBroker();
  await expect(connect(broker, 300)).rejects.toMatchObject({
    code: 'no_consumer',
    retryable: true,
    message: expect.stringContaining("'orchestrator' gave no list of tools"),
  });
  const waiting = connect(broker, 20_000);
  await using _orchestrator = await scriptedOrchestrator(broker, () => ({
    manifest: { version: '1', tools: [] },
  }));
  await using executor = await waiting;
  expect(executor.toolCount).toBe(0);
});

test.each([
  [{ error: { code: 'internal', message: 'no', retryable: false, may_have_run: false } }, 'internal'],
  [{ manifest: { version: 1 } }, 'bad_body'],
  [{ manifest: { version: '1', tools: [{ name: 'x' }] } }, 'bad_body'],
  [null, 'bad_body'],
])('the manifest answer %j is an error, not an empty list', async (answer, code) => {
  await using broker = await startTestBroker();
  await using _orchestrator = await scriptedOrchestrator(broker, () => answer);
  await expect(connect(broker)).rejects.toMatchObject({ code });
});

test('after each reconnect the list is asked for again, with the version that is known', async () => {
  await using broker = await startTestBroker();
  await using orchestrator = await scriptedOrchestrator(broker, () => ({
    manifest: { version: 'v7', tools: [tool('mcp_a__read')] },
  }));
  await using executor = await connect(broker);
  const again = orchestrator.nextAsked();
  await broker.restart();
  await again;
  expect(orchestrator.asked).toEqual([{ op: 'manifest' }, { op: 'manifest', known_version: 'v7' }]);
  expect(executor.version).toBe('v7');
});

test('a change is believed from the orchestrator only, not from another agent of its role', async () => {
  await using broker = await startTestBroker();
  let version = 1;
  await using orchestrator = await scriptedOrchestrator(broker, () => ({
    manifest: { version: `v${version}`, tools: [tool(`mcp_a__v${version}`)] },
  }));
  await using executor = await connect(broker);
  await using imposter = await connectBroker({
    url: broker.url,
    token: await broker.token('conductor', 'orchestrator'),
    agent: 'conductor',
  });
  const addresses = await imposter.listConnected({ role: 'worker' });
  const event = {
    to: addresses[0]!.address,
    kind: 'event',
    ephemeral: true,
    body: { event: 'manifest_changed', version: 'v2' },
  };
  await imposter.deliver(event);
  const changed = new Promise<void>((resolve) => executor.onManifestChanged(resolve));
  version = 2;
  await orchestrator.client.deliver(event);
  await changed;
  expect(executor.listTools().map(({ name }) => name)).toEqual(['mcp_a__v2']);
  expect(orchestrator.asked).toEqual([{ op: 'manifest' }, { op: 'manifest', known_version: 'v1' }]);
});

test('a failed refresh keeps the old list', async () => {
  await using broker = await startTestBroker();
  let answer: unknown = { manifest: { version: '1', tools: [tool('mcp_a__read')] } };
  await using _orchestrator = await scriptedOrchestrator(broker, () => answer);
  await using executor = await connect(broker);
  answer = { error: { code: 'internal', message: 'warming up', retryable: true, may_have_run: false } };
  await expect(executor.refresh()).rejects.toMatchObject({ code: 'internal', retryable: true });
  expect(executor.toolCount).toBe(1);
  answer = { manifest: { version: '2', tools: [] } };
  expect(await executor.refresh()).toBe(true);
  expect(executor.toolCount).toBe(0);
});

test('live workers follow an orchestrator that comes back with another policy', async () => {
  await using stack = await startToolStack();
  const executor = await stack.executor('rita', 'reader');
  expect(executor.toolCount).toBe(6);
  await stack.orchestrator.stop();
  const changed = new Promise<void>((resolve) => executor.onManifestChanged(resolve));
  await using client = await connectBroker({
    url: stack.broker.url,
    token: await stack.broker.token('orchestrator', 'orchestrator'),
    agent: 'orchestrator',
  });
  const allowlist = RoleToolAllowlist.fromEntries([['reader', ['mcp_counter__echo']]]);
  await using _next = await startOrchestrator({
    ...{ client, host: stack.host, policy: wholePolicy({ allowlist }) },
  });
  await changed;
  expect(executor.listTools().map(({ name }) => name)).toEqual(['mcp_counter__echo']);
});

test('calls beyond the rate of their agent are made later', async () => {
  const rates = { messages: 10, messagesBurst: 2 };
  await using stack = await startToolStack({ broker: { limits: { rates } } });
  const executor = await stack.executor('rosa');
  const outcomes = await Promise.all(
    [1, 2, 3, 4, 5, 6].map((n) => executor.execute({ name: 'mcp_counter__echo', arguments: { n } })),
  );
  expect(outcomes.map(({ result }) => result?.structuredContent)).toEqual(
    [1, 2, 3, 4, 5, 6].map((n) => ({ n })),
  );
});

test('a call is refused at once if the rate of its agent allows it only after its deadline', async () => {
  const oneAnHour = { messages: 1 / 3600, messagesBurst: 2 };
  await using stack = await startToolStack({ broker: { limits: { rates: oneAnHour } } });
  const executor = await stack.executor('rosa');
  const outcomes = await Promise.all([1, 2, 3].map(() => executor.execute({ name: 'mcp_counter__echo' })));
  expect(outcomes.map(({ error }) => error)).toContainEqual(
    expect.objectContaining({ code: 'quota_exceeded', retryable: true, may_have_run: false }),
  );
});
