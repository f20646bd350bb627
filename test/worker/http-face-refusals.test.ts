import { connect } from 'node:net';
import { startTestBroker } from '@signalbox/testing';
import { serveHttpFace } from '@signalbox/worker';
import { expect, test, vi } from 'vitest';
import {
  initialize,
  modernCall,
  rawRequest,
  startHttpFaceStack,
  validHeaders,
} from '../support/worker/http-face.ts';

/** The answer to a refused request: a JSON-RPC error with the reason. */
function refusal(status: number, message: string, headers: Record<string, unknown> = {}) {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    text: expect.stringMatching(new RegExp(`^\\{"jsonrpc":"2.0","error":.*${message}`)),
  };
}

const challenge = { 'www-authenticate': 'Bearer realm="signalbox"' };
const invalid = { 'www-authenticate': expect.stringMatching(/^Bearer .*error="invalid_token"/) };

test('a request that may not come in is refused with the reason, beside its twin that may', async () => {
  await using site = await startHttpFaceStack(
    {},
    { allowedHosts: ['gateway.example'], limits: { bodyBytes: 10_000 } },
  );
  const { stack, face } = site;
  const token = await stack.broker.token('wim');
  const sound = modernCall(token, 'mcp_counter__echo', { n: 1 });
  const send = (headers: Record<string, string> = {}, more: object = {}) =>
    rawRequest(face.port, { ...sound, headers: { ...sound.headers, ...headers }, ...more });
  const without = ({ [String('authorization')]: _, ...headers }) => headers;

  for (const host of [
    'localhost',
    `127.0.0.1:${face.port}`,
    '[::1]:80',
    'gateway.example',
    'GATEWAY.example:443',
  ]) {
    expect((await send({ host })).status, host).toBe(200);
  }
  for (const host of ['evil.example', '127.0.0.1.evil.example', 'localhost.', '10.0.0.1']) {
    expect(await send({ host }), host).toMatchObject(refusal(403, 'the Host header must name this face'));
  }
  for (const origin of [
    'http://localhost:3000',
    `http://127.0.0.1:${face.port}`,
    'https://gateway.example',
  ]) {
    expect((await send({ origin })).status, origin).toBe(200);
  }
  for (const origin of ['http://evil.example', 'null', 'file://', 'http://localhost.evil.example']) {
    const refused = await send({ origin });
    expect(refused, origin).toMatchObject(refusal(403, 'requests from web pages of this origin are refused'));
    expect(refused.headers['access-control-allow-origin']).toBeUndefined();
  }

  const operator = `Bearer ${await stack.broker.operatorToken()}`;
  expect(await send({ authorization: operator })).toMatchObject(refusal(403, "this is the operator's token"));

  expect((await send({}, { path: '/mcp?x=1' })).status).toBe(200);
  for (const path of ['/', '/mcp/x', '/sse', '/.well-known/oauth-protected-resource']) {
    expect(await send({}, { path }), path).toMatchObject(refusal(404, 'MCP is served at /mcp'));
  }
  for (const method of ['PUT', 'OPTIONS', 'PATCH']) {
    expect(await send({}, { method, body: undefined }), method).toMatchObject(
      refusal(405, 'is not served: use POST', { allow: 'GET, POST, DELETE' }),
    );
  }

  const noToken = await rawRequest(face.port, { ...sound, headers: without(sound.headers) });
  expect(noToken).toMatchObject(refusal(401, 'each request needs a Signalbox token', challenge));
  for (const authorization of [
    'Bearer',
    'Basic YTpi',
    'Bearer x',
    `Bearer ${token} x`,
    `Bearer ${token.slice(0, -1)}`,
  ]) {
    expect(await send({ authorization }), authorization).toMatchObject({ status: 401, headers: invalid });
  }
  expect((await send({ authorization: `bearer  ${token}` })).status).toBe(200);

  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp']) {
    const refused = await send({ 'content-type': type });
    expect(refused, type).toMatchObject(refusal(415, 'must be application/json'));
  }
  expect((await send({ 'content-type': 'application/json; charset=utf-8' })).status).toBe(200);
  expect(await send({ 'content-encoding': 'gzip' })).toMatchObject(refusal(415, 'must not be compressed'));

  const big = modernCall(token, 'mcp_counter__echo', { text: 'x'.repeat(9_000) });
  expect((await send({}, { body: big.body })).status).toBe(200);
  const tooBig = modernCall(token, 'mcp_counter__echo', { text: 'x'.repeat(10_000) });
  const chunked = { 'transfer-encoding': 'chunked' };
  for (const headers of [{}, chunked]) {
    const refused = await send(headers, { body: tooBig.body });
    expect(refused).toMatchObject(refusal(413, 'a request may have at most 10000 bytes'));
  }
  expect((await send(chunked, { body: big.body })).status).toBe(200);
  expect(face.agentCount).toBe(1);
  expect(JSON.stringify(site.events)).not.toContain(token.split('~')[1]);
});

test('a body that is no request of MCP is refused by the kind of its fault, and the next request is served', async () => {
  await using site = await startHttpFaceStack();
  const { stack, face } = site;
  const token = await stack.broker.token('wim');
  const post = (body: string) => rawRequest(face.port, { headers: validHeaders(token), body });
  const nested = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
  for (const garbage of ['', '{', 'hello', '"x"x', nested, '\u0000']) {
    expect(await post(garbage), garbage.slice(0, 9)).toMatchObject({
      status: 400,
      text: expect.stringContaining('-32700'),
    });
  }
  for (const wrong of [
    'null',
    '1',
    '{}',
    '{"jsonrpc":"1.0","id":1,"method":"ping"}',
    '{"jsonrpc":"2.0","id":{}}',
  ]) {
    expect(await post(wrong), wrong).toMatchObject({ status: 400, text: expect.stringContaining('-32600') });
  }
  for (const batch of ['[]', `[${initialize}]`, `[${initialize},${initialize}]`]) {
    expect(await post(batch)).toMatchObject(refusal(400, 'one message at a time'));
  }
  const sound = modernCall(token, 'mcp_counter__echo', {});
  const polluting = sound.body.replace('"arguments":{}', '"arguments":{"__proto__":{"polluted":1},"n":1}');
  const answer = await rawRequest(face.port, { ...sound, body: polluting });
  expect(answer.status).toBe(200);
  expect(answer.text).toContain('"n":1');
  expect(Object('')).not.toHaveProperty('polluted');
  const mismatched = { ...sound.headers, 'mcp-name': 'mcp_counter__count' };
  expect(await rawRequest(face.port, { headers: mismatched, body: sound.body })).toMatchObject({
    status: 400,
    text: expect.stringContaining('-32020'),
  });
  expect(stack.ran('count')).toEqual([]);
});

test('headers without end and a body that does not come are cut off, and others are served meanwhile', async () => {
  await using site = await startHttpFaceStack({}, { times: { requestTimeoutMs: 1500 } });
  const { stack, face } = site;
  const token = await stack.broker.token('wim');
  const sound = modernCall(token, 'mcp_counter__echo', { n: 1 });
  const stuck = async (text: string) => {
    const socket = connect(face.port, '127.0.0.1');
    let got = '';
    socket.on('data', (chunk) => {
      got += chunk;
    });
    socket.on('error', () => {});
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(text);
    await closed;
    return got;
  };
  const head = (length: number) =>
    `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
  const slowHead = stuck('POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-A:');
  const slowBody = stuck(`${head(500)}{"jsonrpc":`);
  const hugeHead = stuck(`GET /mcp HTTP/1.1\r\nHost: localhost\r\nX-A: ${'a'.repeat(100_000)}\r\n\r\n`);
  expect((await rawRequest(face.port, sound)).status).toBe(200);
  expect(await hugeHead).toMatch(/^HTTP\/1.1 431 /);
  expect(await slowHead).toMatch(/^HTTP\/1.1 408 /);
  expect(await slowBody).toMatch(/^HTTP\/1.1 408 /);
  expect((await rawRequest(face.port, sound)).status).toBe(200);
});

test('connections that never speak displace each other, and nobody else', async () => {
  await using site = await startHttpFaceStack({}, { limits: { idleConnections: 4, agentIdleMs: 40 } });
  const { stack, face, events } = site;
  const sound = modernCall(await stack.broker.token('wim'), 'mcp_counter__echo', { n: 1 });
  const silent = Array.from({ length: 50 }, () => connect(face.port, '127.0.0.1'));
  for (const socket of silent) socket.on('error', () => {}).resume();
  const open = () => silent.filter(({ closed }) => !closed).length;
  expect((await rawRequest(face.port, sound)).status).toBe(200);
  await vi.waitFor(() => expect(open()).toBeLessThanOrEqual(4));
  await vi.waitFor(() =>
    expect(events).toContainEqual(expect.objectContaining({ event: 'face_connections_evicted', limit: 4 })),
  );
  await face.close();
  await vi.waitFor(() => expect(open()).toBe(0));
});

test('a token that the broker refuses costs it one connection, however often it is tried', async () => {
  await using site = await startHttpFaceStack();
  const { stack, face } = site;
  const token = await stack.broker.token('wim');
  const wrong = `${token.slice(0, -2)}${token.endsWith('AA') ? 'BB' : 'AA'}`;
  const attempt = (text: string) => rawRequest(face.port, modernCall(text, 'mcp_counter__echo', {}));
  const together = await Promise.all(Array.from({ length: 20 }, () => attempt(wrong)));
  const after = await attempt(wrong);
  for (const answer of [...together, after]) expect(answer).toMatchObject({ status: 401, headers: invalid });
  expect(site.events.filter(({ event }) => event === 'face_agent_refused')).toHaveLength(1);
  expect(face.agentCount).toBe(0);
  const good = await Promise.all(Array.from({ length: 20 }, () => attempt(token)));
  expect(good.map(({ status }) => status)).toEqual(Array(20).fill(200));
  expect(site.events.filter(({ event }) => event === 'face_agent_connected')).toHaveLength(1);
  expect(face.agentCount).toBe(1);
});

test('without a broker, and without an orchestrator, a request is told when to come again', async () => {
  await using broker = await startTestBroker();
  const token = await broker.token('wim');
  const call = modernCall(token, 'mcp_counter__echo', {});
  const { url } = broker;
  const listen = { host: '127.0.0.1', port: 0 };
  const times = { connectTimeoutMs: 300 };
  await using face = await serveHttpFace({ listen, connect: { url }, version: '1', times });
  const again = { 'retry-after': '2' };
  expect(await rawRequest(face.port, call)).toMatchObject(refusal(503, "'orchestrator' gave no list", again));
  await broker.broker.stop();
  expect(await rawRequest(face.port, call)).toMatchObject({ status: 503, headers: again });
  expect(face.agentCount).toBe(0);
});

test('an address beyond this machine is refused unless insecurity is accepted', async () => {
  const options = {
    connect: { url: 'ws://127.0.0.1:9' },
    version: '1',
    listen: { host: '0.0.0.0', port: 0 },
  };
  await expect(serveHttpFace(options)).rejects.toMatchObject({ code: 'insecure_listen' });
  await using face = await serveHttpFace({ ...options, insecure: true });
  expect((await rawRequest(face.port, { headers: { host: 'elsewhere' } })).status).toBe(403);
  expect((await rawRequest(face.port, { headers: { host: 'localhost' } })).status).toBe(401);
});
