import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { serveHttpFace } from '@signalbox/worker';
import { expect, test } from 'vitest';
import {
  type HttpFaceStack,
  initialize,
  openRequest,
  rawRequest,
  startHttpFaceStack,
  validHeaders,
} from '../support/worker/http-face.ts';
import { connectMcpClient } from '../support/worker/mcp-client.ts';

/** Begins a session of the revision 2025-11-25 with calls of the tool `gate`, and with streams. */
async function beginSession({ stack, face }: HttpFaceStack) {
  const token = await stack.broker.tokenOf('agent');
  const begun = await rawRequest(face.port, { headers: validHeaders(token), body: initialize });
  const headers = validHeaders(token, { 'mcp-session-id': String(begun.headers['mcp-session-id']) });
  const opener = join(stack.directory, 'opener');
  const params = { name: 'mcp_counter__gate', arguments: { file: opener } };
  return {
    token,
    headers,
    openGate: () => writeFile(opener, ''),
    call: (id: number) => ({
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }),
    }),
    listen: (lastEventId?: string) => ({
      method: 'GET',
      headers: { ...headers, ...(lastEventId !== undefined && { 'last-event-id': lastEventId }) },
    }),
  };
}

/** Reads the events that have come whole; those without data have none. */
function eventsOf(text: string): { id: string; data: unknown }[] {
  return [...text.matchAll(/id: (.*)\n(?:retry: 3000\n)?(?:event: message\n)?data: (.*)\n\n/g)].map(
    ([, id = '', data]) => ({ id, data: data === '' ? undefined : JSON.parse(data!) }),
  );
}

test('A call whose stream breaks goes on, and its client reads on after the last event that it got, again and again.', async () => {
  await using site = await startHttpFaceStack({}, { times: { silenceMs: 30 } });
  const { stack, face } = site;
  const session = await beginSession(site);
  const call = openRequest(face.port, session.call(1));
  await expect.poll(() => eventsOf(call.text())).toHaveLength(1);
  const { id: first } = eventsOf(call.text())[0]!;
  await call[Symbol.asyncDispose]();
  const broken = openRequest(face.port, session.listen(first));
  // An official client forgets the id if the resumed stream does not say it again.
  await expect.poll(() => eventsOf(broken.text())).toEqual([{ id: first, data: undefined }]);
  await broken[Symbol.asyncDispose]();
  const waiting = rawRequest(face.port, session.listen(first));
  await session.openGate();
  const answered = eventsOf((await waiting).text);
  expect(answered).toMatchObject([{ id: first }, { data: { id: 1, result: { structuredContent: {} } } }]);
  expect(stack.ran('gate').map(({ at }) => at)).toEqual(['start', 'end']);
  // The answer may have been lost with the connection.
  expect(eventsOf((await rawRequest(face.port, session.listen(first))).text)).toEqual(answered);
  // 204 tells a client to come back no more.
  expect((await rawRequest(face.port, session.listen(answered[1]!.id))).status).toBe(204);
});

test('A call to whose stream no client has come back for a minute is cancelled; until then it counts as under way.', async () => {
  let now = 0;
  const limits = { requestsPerAgent: 1, sessionIdleMs: 4_000 };
  await using site = await startHttpFaceStack({}, { times: { silenceMs: 30 }, limits, now: () => now });
  const { stack, face } = site;
  const session = await beginSession(site);
  const call = openRequest(face.port, session.call(1));
  await expect.poll(() => eventsOf(call.text())).toHaveLength(1);
  const { id } = eventsOf(call.text())[0]!;
  await call[Symbol.asyncDispose]();
  const another = await rawRequest(face.port, session.call(2));
  expect(another).toMatchObject({
    status: 429,
    text: expect.stringContaining('worker.limits.requestsPerAgent'),
  });
  now = 59_999;
  const back = openRequest(face.port, session.listen(id));
  await expect.poll(() => eventsOf(back.text())).toHaveLength(1);
  await back[Symbol.asyncDispose]();
  now = 59_999 + 60_001;
  await expect.poll(() => stack.ran('gate').map(({ at }) => at)).toEqual(['start', 'cancelled']);
  await session.openGate();
  expect(await rawRequest(face.port, session.call(3))).toMatchObject({ status: 200 });
});

test('A client that resumes a stream at another face, or too late, is told at once that the answer is lost.', async () => {
  await using site = await startHttpFaceStack({}, { times: { silenceMs: 30 } });
  const { stack, face } = site;
  const session = await beginSession(site);
  await using call = openRequest(face.port, session.call(7));
  await expect.poll(() => eventsOf(call.text())).toHaveLength(1);
  const { id } = eventsOf(call.text())[0]!;
  await using next = await serveHttpFace({
    listen: { host: '127.0.0.1', port: 0 },
    connect: { url: stack.broker.url },
    version: '1.2.3',
  });
  const lost = eventsOf((await rawRequest(next.port, session.listen(id))).text);
  const message = expect.stringMatching(/does not have the answer.*signalbox_call_result/);
  expect(lost).toEqual([
    { id: expect.any(String), data: { jsonrpc: '2.0', id: 7, error: { code: -32000, message } } },
  ]);
  expect((await rawRequest(next.port, session.listen(lost[0]!.id))).status).toBe(204);
  await session.openGate();
  await call.ended;
});

test('A client that listens again gets each announcement that it has missed, once.', async () => {
  await using site = await startHttpFaceStack();
  const { stack, face } = site;
  const session = await beginSession(site);
  const isAnnounced = { data: { method: 'notifications/tools/list_changed' } };
  const stream = openRequest(face.port, session.listen());
  await expect.poll(() => eventsOf(stream.text())).toHaveLength(1);
  const { id } = eventsOf(stream.text())[0]!;
  const allowlist = RoleToolAllowlist.fromEntries([['worker', ['mcp_counter__echo']]]);
  stack.orchestrator.setPolicy({ allowlist });
  await expect.poll(() => eventsOf(stream.text())).toMatchObject([{ id }, isAnnounced]);
  const { id: last } = eventsOf(stream.text())[1]!;
  // The first connection was dead when the announcement was written to it.
  const again = openRequest(face.port, session.listen(id));
  await expect.poll(() => eventsOf(again.text())).toMatchObject([{ id }, isAnnounced]);
  for (const lastId of [last, undefined]) {
    await using none = openRequest(face.port, session.listen(lastId));
    await expect.poll(() => eventsOf(none.text())).toEqual([{ id: last, data: undefined }]);
  }
});

test("The official client gets its result through connections that break, the one of the resumed stream too, and it doesn't notice.", async () => {
  await using site = await startHttpFaceStack({}, { times: { silenceMs: 30 } });
  const { stack, face } = site;
  await using proxy = await startBreakingProxy(face.port);
  const session = await beginSession(site);
  const comings: (() => void)[] = [];
  const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${proxy.port}/mcp`), {
    requestInit: { headers: { authorization: session.headers.authorization! } },
    reconnectionScheduler: (reconnect) => void comings.push(reconnect),
  });
  await using agent = await connectMcpClient(transport);
  const { arguments: args } = JSON.parse(session.call(1).body).params;
  const answered = agent.call('mcp_counter__gate', args);
  // The stream that the client listens to, and that of the call.
  const streams = () => proxy.seen().split('retry: 3000').length - 1;
  await expect.poll(streams).toBe(2);
  for (const _ of ['the first streams', 'the resumed ones']) {
    proxy.break();
    await expect.poll(() => comings.length).toBe(2);
    for (const reconnect of comings.splice(0)) reconnect();
    await expect.poll(streams).toBe(2);
  }
  await session.openGate();
  expect(await answered).toMatchObject({ structuredContent: { highWater: 1 } });
  expect(stack.ran('gate').map(({ at }) => at)).toEqual(['start', 'end']);
});

/** Passes connections on. `seen` is what came from the server since the last break. */
async function startBreakingProxy(to: number) {
  const broken = new Set<() => void>();
  let seen = '';
  const server = createServer((socket) => {
    const onward = connect(to, '127.0.0.1');
    const end = () => {
      socket.destroy();
      onward.destroy();
      broken.delete(end);
    };
    broken.add(end);
    for (const side of [socket, onward]) side.on('error', end).on('close', end);
    socket.pipe(onward).pipe(socket);
    onward.on('data', (chunk) => {
      seen += chunk;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    seen: () => seen,
    break() {
      seen = '';
      for (const end of broken) end();
    },
    async [Symbol.asyncDispose]() {
      for (const end of broken) end();
      server.close();
      await once(server, 'close');
    },
  };
}
