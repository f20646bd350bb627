import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { connectMcpClient } from '../support/worker/mcp-client.ts';
import { startSharedFaceStack } from '../support/worker/shared-face.ts';
import { startRelay, startShim } from '../support/worker/shim.ts';

const count = 'mcp_counter__count';
const echo = 'mcp_counter__echo';

test('a message whose receipt was lost with the connection is stored once', async () => {
  await using site = await startSharedFaceStack();
  await using relay = await startRelay(`${site.path}.relay`, site.path);
  await using shim = startShim(relay.path, await site.stack.broker.token('rosa'));
  await using client = await connectMcpClient(shim.transport);
  const reader = await site.stack.clientAt('eva');
  const lost = relay.loseLine('is stored for');
  const sent = client.call('signalbox_send_message', { to: 'eva', body: 'once' });
  await lost;
  expect(await sent).not.toHaveProperty('isError');
  expect(await reader.peek()).toMatchObject([{ from: { agent: 'rosa' } }]);
});

test('while no face comes back, calls end as typed outcomes; when one comes, calls work again', async () => {
  await using site = await startSharedFaceStack();
  await using shim = startShim(site.path, await site.stack.broker.token('rosa'), { waitMs: 300 });
  await using client = await connectMcpClient(shim.transport);
  await client.list();
  const opener = `${site.stack.directory}/open`;
  const call = client.call('mcp_counter__gate', { file: opener });
  await expect.poll(() => site.stack.ran('gate').length).toBe(1);
  await site.face.close();
  await client.client.ping();
  const unsent = client.call(count);
  const list = client.list().catch((thrown: unknown) => thrown);
  const outcome = (await call) as { structuredContent: { error: { call_id: string } } };
  const { call_id: callId } = outcome.structuredContent.error;
  expect(outcome).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining(`signalbox_call_result with call_id ${callId}`) }],
    structuredContent: { error: { code: 'outcome_unknown', may_have_run: true } },
  });
  expect(await unsent).toMatchObject({
    isError: true,
    structuredContent: { error: { retryable: true, may_have_run: false } },
  });
  expect(await list).toMatchObject({ data: { retryable: true } });
  expect(site.stack.ran('count')).toEqual([]);

  site.face = await site.serve();
  await expect.poll(() => shim.notices.at(-1)).toBe('the MCP face is back');
  expect(await client.call(count)).toMatchObject({ structuredContent: { n: 1 } });
  await writeFile(opener, '');
  expect(await client.call('signalbox_call_result', { call_id: callId })).not.toHaveProperty('isError');
  const { structuredContent: found } = (await client.call('signalbox_call_result')) as {
    structuredContent: { calls: { call_id: string; state: string }[] };
  };
  expect(found.calls).toContainEqual(expect.objectContaining({ call_id: callId }));
});

test('a session whose token is revoked goes on with a new one, or ends with the refusal', async () => {
  await using site = await startSharedFaceStack();
  const { broker } = site.stack.broker;
  const operator = await site.stack.client('operator');
  const first = await broker.issueToken({ agent: 'rosa', role: 'worker' });
  const second = await broker.issueToken({ agent: 'rosa', role: 'worker' });
  let { token } = first;
  await using shim = startShim(site.path, token, { renewToken: () => token });
  await using client = await connectMcpClient(shim.transport);
  ({ token } = second);
  await operator.admin('token_revoke', { id: first.id });
  await expect.poll(() => shim.notices.at(-1)).toBe('the MCP face is back');
  expect(await client.call(count)).toMatchObject({ structuredContent: { n: 1 } });
  await operator.admin('token_revoke', { id: second.id });
  expect(await shim.ended).toMatchObject({ end: 'refused', refusal: { code: 'unauthorized' } });
});

test('a shim without a face, or with one that refuses it, has read nothing', async () => {
  await using site = await startSharedFaceStack();
  const token = await site.stack.broker.token('rosa');
  await using none = startShim(`${site.path}.none`, token, { absentWaitMs: 300 });
  await using refused = startShim(site.path, `${token.slice(0, -2)}xx`);
  for (const shim of [none, refused]) {
    shim.toShim.write('{}\n');
    expect(await shim.ended).toEqual({ end: 'not_served' });
    expect(shim.toShim.readableFlowing).toBeNull();
  }
  expect(none.notices).toEqual([
    expect.stringContaining('no MCP face listens'),
    expect.stringContaining('serves its agent by itself'),
  ]);
  expect(refused.notices).toEqual([]);
});

test('a shim that starts before its face, or while it is dead, waits for it', async () => {
  await using site = await startSharedFaceStack();
  const { path } = site;
  await site.face.close();
  const token = await site.stack.broker.token('rosa');
  await using shim = startShim(path, token);
  const connected = connectMcpClient(shim.transport);
  await expect.poll(() => shim.notices).toEqual([`no MCP face listens at ${path} yet; waiting for it`]);
  site.face = await site.serve();
  await using client = await connected;
  expect(await client.call(count)).toMatchObject({ structuredContent: { n: 1 } });
  expect(site.face.sessionCount).toBe(1);
});

test('the end of a shim takes one short time if its client never reads', async () => {
  await using site = await startSharedFaceStack();
  const waits: number[] = [];
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  const shim = startShim(site.path, await site.stack.broker.token('rosa'), {
    farewellMs: 1_000,
    wait: async (ms) => {
      waits.push(ms);
      await isOver;
    },
  });
  const write = (message: object) => shim.toShim.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  write({ id: 0, method: 'initialize', params });
  await once(shim.fromShim, 'readable');
  write({ method: 'notifications/initialized' });
  for (let id = 1; id <= 8; id++)
    write({
      id,
      method: 'tools/call',
      params: { name: 'mcp_counter__big', arguments: { bytes: 1_000_000 } },
    });
  await expect.poll(() => shim.fromShim.writableNeedDrain).toBe(true);
  shim.toShim.end();
  await expect.poll(() => waits).toEqual([1_000]);
  end();
  expect(await shim.ended).toEqual({ end: 'done' });
  expect(waits).toEqual([1_000]);
});

test('a shim looks before each connection whether another user may have put the socket there, and shows its token to none of those', async () => {
  await using site = await startSharedFaceStack();
  await using shim = startShim(site.path, await site.stack.broker.token('rosa'));
  await using client = await connectMcpClient(shim.transport);
  await client.list();
  await chmod(dirname(site.path), 0o777);
  await site.face.close();
  const stranger = createServer().listen(site.path);
  let connections = 0;
  stranger.on('connection', (socket) => {
    connections++;
    socket.destroy();
  });
  const call = client.call(count);
  await expect.poll(() => shim.notices.at(-1)).toContain('is not used: other users may write to it');
  expect(await startShim(site.path, await site.stack.broker.token('wim')).ended).toEqual({
    end: 'not_served',
  });
  await new Promise((resolve) => stranger.close(resolve));
  expect(connections).toBe(0);
  await chmod(dirname(site.path), 0o700);
  site.face = await site.serve();
  expect(await call).toMatchObject({ structuredContent: { n: 1 } });
});

test('long lines pass, one that is longer than the face reads ends the session', async () => {
  await using site = await startSharedFaceStack();
  await using shim = startShim(site.path, await site.stack.broker.token('rosa'));
  await using client = await connectMcpClient(shim.transport);
  const text = 'é'.repeat(400_000);
  expect(await client.call(echo, { text })).toMatchObject({ structuredContent: { text } });
  const refused = await client.call(echo, { text: 'x'.repeat(17 * 1024 * 1024) });
  expect(refused).toMatchObject({ isError: true, structuredContent: { error: { may_have_run: false } } });
  expect(await client.call(echo, { n: 1 })).toMatchObject({ structuredContent: { n: 1 } });
  shim.toShim.write('x'.repeat(33 * 1024 * 1024));
  expect(await shim.ended).toEqual({ end: 'done' });
  expect(shim.notices.at(-1)).toContain('wrote a line of more than');
});

test('lines that are no messages change nothing', async () => {
  await using site = await startSharedFaceStack();
  await using shim = startShim(site.path, await site.stack.broker.token('rosa'));
  await using client = await connectMcpClient(shim.transport);
  for (const line of [
    '',
    'garbage',
    '7 {"jsonrpc":"2.0"}',
    '[]',
    '{"id":1}',
    '{"jsonrpc":"2.0","id":"9:9","result":1}',
    '{"id":"\u0001","result":1}',
    'null',
  ])
    shim.toShim.write(`${line}\n`);
  expect(await client.call(echo, { n: 1 })).toMatchObject({ structuredContent: { n: 1 } });
});
