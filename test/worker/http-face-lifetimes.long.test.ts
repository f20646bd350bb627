import { serveHttpFace } from '@signalbox/worker';
import { expect, test } from 'vitest';
import { oddMcpContentServer } from '../support/mcp-host/test-servers.ts';
import {
  initialize,
  modernCall,
  openRequest,
  rawRequest,
  startHttpFaceStack,
  validHeaders,
} from '../support/worker/http-face.ts';

const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const noSession = { status: 404, text: expect.stringContaining('-32001') };

test('a session belongs to the token that began it, and ends when its client says so', async () => {
  await using site = await startHttpFaceStack();
  const { stack, face } = site;
  const [mine, mineToo, other] = [
    await stack.broker.token('wim'),
    await stack.broker.token('wim'),
    await stack.broker.token('kim'),
  ];
  const opened = await rawRequest(face.port, { headers: validHeaders(mine), body: initialize });
  const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) };
  const ask = (token: string, more: object = {}) =>
    rawRequest(face.port, { headers: validHeaders(token, session), body: ping, ...more });
  expect((await ask(mine)).status).toBe(200);
  for (const token of [mineToo, other]) {
    expect(await ask(token)).toMatchObject(noSession);
    expect(await ask(token, { method: 'GET', body: undefined })).toMatchObject(noSession);
    expect(await ask(token, { method: 'DELETE', body: undefined })).toMatchObject(noSession);
  }
  const withVersion = (version: string) =>
    rawRequest(face.port, {
      headers: validHeaders(mine, { ...session, 'mcp-protocol-version': version }),
      body: ping,
    });
  expect((await withVersion('2025-11-25')).status).toBe(200);
  expect(await withVersion('1999-01-01')).toMatchObject({ status: 400 });
  const json = { headers: validHeaders(mine, { ...session, accept: 'application/json' }) };
  expect((await rawRequest(face.port, { ...json, method: 'GET' })).status).toBe(406);
  const nameless = await rawRequest(face.port, { headers: validHeaders(mine), body: ping });
  expect(nameless).toMatchObject({ status: 400, text: expect.stringContaining('Mcp-Session-Id') });
  expect((await ask(mine, { method: 'DELETE', body: undefined })).status).toBe(204);
  expect(await ask(mine)).toMatchObject(noSession);
});

test('an initialize that fails begins no session', async () => {
  await using site = await startHttpFaceStack();
  const { stack, face } = site;
  const headers = validHeaders(await stack.broker.token('wim'));
  const broken = initialize.replace('"capabilities":{}', '"capabilities":7');
  const failed = await rawRequest(face.port, { headers, body: broken });
  expect(failed.headers['mcp-session-id']).toBeUndefined();
  expect(failed.text).toContain('"error"');
  const opened = await rawRequest(face.port, { headers, body: initialize });
  expect(opened.headers['mcp-session-id']).toMatch(/^[\w-]+\.[\w-]+$/);
});

test('what nobody uses goes after its time, first the session, then the agent; a stream keeps both, and a request brings both back', async () => {
  let now = 0;
  const limits = { agentIdleMs: 40, sessionIdleMs: 400 };
  await using site = await startHttpFaceStack({}, { limits, now: () => now });
  const { stack, face } = site;
  const [token, kept] = [await stack.broker.token('wim'), await stack.broker.token('kim')];
  const begin = async (text: string) => {
    const opened = await rawRequest(face.port, { headers: validHeaders(text), body: initialize });
    return validHeaders(text, { 'mcp-session-id': String(opened.headers['mcp-session-id']) });
  };
  const left = await begin(token);
  const used = await begin(kept);
  await using stream = openRequest(face.port, { method: 'GET', headers: used });
  await expect.poll(stream.status).toBe(200);
  now = 399;
  expect((await rawRequest(face.port, { headers: left, body: ping })).status).toBe(200);
  now = 399 + 400;
  // The sweep that puts the session to sleep begins the time of the agent.
  now += 41;
  await expect.poll(() => face.agentCount).toBe(1);
  expect(site.events).toContainEqual(expect.objectContaining({ event: 'face_agent_left', agent: 'wim' }));
  expect((await rawRequest(face.port, { headers: used, body: ping })).status).toBe(200);
  expect((await rawRequest(face.port, { headers: left, body: ping })).status).toBe(200);
  expect(face.agentCount).toBe(2);
});

test('sessions and agents beyond their number take the place of the one that was left alone longest', async () => {
  await using site = await startHttpFaceStack({}, { limits: { agents: 2, sessionsPerAgent: 2 } });
  const { stack, face } = site;
  const [one, two, three] = [
    await stack.broker.token('one'),
    await stack.broker.token('two'),
    await stack.broker.token('three'),
  ];
  const begin = async () => {
    const opened = await rawRequest(face.port, { headers: validHeaders(one), body: initialize });
    return validHeaders(one, { 'mcp-session-id': String(opened.headers['mcp-session-id']) });
  };
  const status = async (headers: Record<string, string>) =>
    (await rawRequest(face.port, { headers, body: ping })).status;
  const [first, second] = [await begin(), await begin()];
  expect(await status(first)).toBe(200);
  const third = await begin();
  // The second sleeps, and wakes in the place of the first.
  expect([await status(first), await status(second), await status(third)]).toEqual([200, 200, 200]);
  await using stream = openRequest(face.port, { method: 'GET', headers: second });
  await using another = openRequest(face.port, { method: 'GET', headers: third });
  await expect.poll(() => [stream.status(), another.status()]).toEqual([200, 200]);
  expect(await rawRequest(face.port, { headers: first, body: ping })).toMatchObject({
    status: 429,
    text: expect.stringContaining('worker.limits.sessionsPerAgent'),
  });
  await stream[Symbol.asyncDispose]();
  await expect.poll(() => status(first)).toBe(200);
  expect(await status(third)).toBe(200);

  const call = async (token: string) =>
    rawRequest(face.port, modernCall(token, 'mcp_counter__echo', { n: 1 }));
  expect((await call(two)).status).toBe(200);
  expect((await call(three)).status).toBe(200);
  expect(site.events).toContainEqual(expect.objectContaining({ event: 'face_agent_left', agent: 'two' }));
  expect(await status(third)).toBe(200);
  const slow = openRequest(face.port, modernCall(three, 'mcp_counter__slow', { ms: 60_000 }));
  await expect.poll(() => stack.ran('slow').length).toBe(1);
  expect(await call(two)).toMatchObject({ status: 503, headers: { 'retry-after': '10' } });
  await slow[Symbol.asyncDispose]();
  await expect.poll(async () => (await call(two)).status).toBe(200);
});

test('A session goes on at the next face, which has never seen it, and is told that lists may have changed.', async () => {
  await using site = await startHttpFaceStack({ servers: { odd: oddMcpContentServer() } });
  const { stack, face } = site;
  const [token, other] = [await stack.broker.token('wim'), await stack.broker.token('wim')];
  const asking = initialize.replace('"capabilities":{}', '"capabilities":{"elicitation":{}}');
  const opened = await rawRequest(face.port, { headers: validHeaders(token), body: asking });
  const id = String(opened.headers['mcp-session-id']);
  const headers = validHeaders(token, { 'mcp-session-id': id });
  await using next = await serveHttpFace({
    listen: { host: '127.0.0.1', port: 0 },
    connect: { url: stack.broker.url },
    version: '1.2.3',
    limits: { sessionsPerAgent: 2 },
  });
  // Requests that come at once wake one session, and only its own token does.
  const list = (n: number) => JSON.stringify({ jsonrpc: '2.0', id: n, method: 'tools/list' });
  const answers = await Promise.all([1, 2, 3].map((n) => rawRequest(next.port, { headers, body: list(n) })));
  for (const { status, text } of answers) {
    expect(status).toBe(200);
    expect(text).toContain('mcp_counter__echo');
  }
  await using stream = openRequest(next.port, { method: 'GET', headers });
  const kinds = ['tools', 'prompts', 'resources'].map((kind) => `notifications/${kind}/list_changed`);
  await expect.poll(() => kinds.filter((kind) => stream.text().includes(kind))).toEqual(kinds);
  const foreign = validHeaders(other, { 'mcp-session-id': id });
  expect(await rawRequest(next.port, { headers: foreign, body: ping })).toMatchObject(noSession);
  const forged = validHeaders(token, {
    'mcp-session-id': `${id.slice(0, -1)}${id.endsWith('A') ? 'E' : 'A'}`,
  });
  expect(await rawRequest(next.port, { headers: forged, body: ping })).toMatchObject(noSession);

  // A session that a client has ended stays ended, and a session that has followed a resource ends when it is forgotten.
  expect((await rawRequest(next.port, { headers, method: 'DELETE' })).status).toBe(204);
  expect(await rawRequest(next.port, { headers, body: ping })).toMatchObject(noSession);
  const begin = async () => {
    const { headers: given } = await rawRequest(next.port, { headers: validHeaders(token), body: asking });
    return validHeaders(token, { 'mcp-session-id': String(given['mcp-session-id']) });
  };
  const follower = await begin();
  const params = { uri: 'odd://left' };
  const subscribe = JSON.stringify({ jsonrpc: '2.0', id: 3, method: 'resources/subscribe', params });
  expect(
    JSON.parse((await rawRequest(next.port, { headers: follower, body: subscribe })).text).result,
  ).toEqual({});
  await begin();
  await begin();
  expect(await rawRequest(next.port, { headers: follower, body: ping })).toMatchObject(noSession);
});
