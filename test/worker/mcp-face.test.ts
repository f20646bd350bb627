import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { programOptions } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { npmServer } from '../support/mcp-host/test-servers.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';
import { connectFace, connectProcess } from '../support/worker/mcp-client.ts';

const everything = npmServer('everything', 'stdio');

test.each(['legacy', 'modern'] as const)(
  'a %s client sees the tools of its role as their servers describe them, in one page',
  async (era) => {
    await using stack = await startToolStack({
      servers: { everything },
      allowlist: RoleToolAllowlist.fromEntries([['reader', ['mcp_everything__*']]]),
    });
    // It has tools for clients that can be asked; a shared server is told that its clients can be.
    await using direct = await connectProcess(everything, {
      capabilities: { elicitation: {}, sampling: {} },
    });
    const own = await direct.list();
    await using connection = await connectFace(await stack.executor('rita', 'reader'), {
      era,
      mailbox: false,
    });
    const tools = await connection.list();
    const expected = own
      .map((tool) => ({ ...tool, name: `mcp_everything__${tool.name}` }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    expect(tools.length).toBeGreaterThan(5);
    // The current revision has no `execution` any more; the SDK takes it out.
    const { execution: _gone, ...rest } = { execution: undefined, ...expected[0]! };
    expect(tools[0]).toEqual(era === 'modern' ? rest : expected[0]);
    expect(tools.map((tool) => tool.name)).toEqual(expected.map((tool) => tool.name));
    expect(tools.map((tool) => tool.inputSchema)).toEqual(expected.map((tool) => tool.inputSchema));
    expect(tools.map((tool) => tool.annotations)).toEqual(expected.map((tool) => tool.annotations));
    expect(await connection.list()).toEqual(tools);
  },
);

test('the face introduces itself and says how to use it', async () => {
  await using stack = await startToolStack();
  await using connection = await connectFace(await stack.executor('rita', 'reader'), { mailbox: false });
  expect(connection.client.getServerVersion()).toMatchObject({ name: 'signalbox', version: '1.2.3' });
  expect(connection.client.getInstructions()).toContain("the role 'reader'");
});

test('a failure is a result that a model can act on; an unknown tool is a protocol error', async () => {
  await using stack = await startToolStack();
  await using connection = await connectFace(await stack.executor('w1'), { mailbox: false });
  const refused = await connection.call('mcp_counter__echo', '[1]');
  expect(refused).toMatchObject({
    isError: true,
    content: [{ type: 'text', text: expect.stringContaining('invalid_arguments') }],
    structuredContent: { error: { code: 'invalid_arguments', retryable: false, may_have_run: false } },
  });
  await expect(connection.call('mcp_counter__ecko')).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining("'mcp_counter__echo'"),
  });
  expect(await connection.call('mcp_counter__echo', { n: 1 })).toMatchObject({ structuredContent: { n: 1 } });
  expect(stack.ran('echo')).toHaveLength(2);
});

test('a change of the list is told to the client', async () => {
  await using stack = await startToolStack();
  await using connection = await connectFace(await stack.executor('w1'), { mailbox: false });
  const told = new Promise<void>((resolve) =>
    connection.client.setNotificationHandler('notifications/tools/list_changed', () => resolve()),
  );
  stack.orchestrator.setPolicy({
    allowlist: RoleToolAllowlist.fromEntries([['worker', ['mcp_counter__echo']]]),
  });
  await told;
  expect((await connection.list()).map((tool) => tool.name)).toEqual(['mcp_counter__echo']);
});

test("a client's cancellation stops the tool in its server", async () => {
  await using stack = await startToolStack();
  await using connection = await connectFace(await stack.executor('w1'), { mailbox: false });
  const abort = new AbortController();
  const call = connection.call('mcp_counter__slow', { ms: 60_000 }, { signal: abort.signal });
  await expect.poll(() => stack.ran('slow').length).toBe(1);
  abort.abort();
  await expect(call).rejects.toThrow();
  await expect.poll(() => stack.ran('slow').map((line) => line.at)).toEqual(['start', 'cancelled']);
});

test('a face that is asked to end answers what it has running and cancels it in the server', async () => {
  await using stack = await startToolStack();
  await using connection = await connectFace(await stack.executor('w1'), { mailbox: false });
  const call = connection.call('mcp_counter__slow', { ms: 60_000 });
  await expect.poll(() => stack.ran('slow').length).toBe(1);
  await connection.face.close();
  expect(await call).toMatchObject({
    isError: true,
    structuredContent: { error: { code: 'cancelled', may_have_run: true } },
  });
  await expect.poll(() => stack.ran('slow').map((line) => line.at)).toEqual(['start', 'cancelled']);
});

test('an executor that is closed ends the face', async () => {
  await using stack = await startToolStack();
  const executor = await stack.executor('w1');
  await using connection = await connectFace(executor, { mailbox: false });
  const hungUp = new Promise<void>((resolve) => {
    connection.client.onclose = resolve;
  });
  await executor.close();
  await Promise.all([connection.face.closed, hungUp]);
  expect((await executor.execute({ name: 'mcp_counter__echo' })).error?.may_have_run).toBe(false);
});

const faceMain = fileURLToPath(new URL('../support/worker/face-main.ts', import.meta.url));

test('a face process whose input ends exits with 0, having written nothing but MCP', async () => {
  await using stack = await startToolStack();
  const token = await stack.broker.token('w1');
  const args = [...programOptions(), faceMain, stack.broker.url, token, 'w1'];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  let written = '';
  child.stdout.on('data', (chunk) => {
    written += chunk;
  });
  const exited = once(child, 'exit');
  const initialize = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'raw', version: '1' },
  };
  child.stdin.write(
    `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize })}\n`,
  );
  await once(child.stdout, 'data');
  child.stdin.end();
  expect(await exited).toEqual([0, null]);
  const messages = written
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(messages).toMatchObject([{ jsonrpc: '2.0', id: 1, result: { protocolVersion: '2025-11-25' } }]);
});
