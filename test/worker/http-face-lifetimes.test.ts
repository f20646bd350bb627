import { expect, test } from 'vitest';
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
  expect(opened.headers['mcp-session-id']).toMatch(/^[\w-]{36}$/);
});

test('what nobody uses goes after its time, first the session, then the agent; a stream keeps both', async () => {
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
  await expect
    .poll(async () => (await rawRequest(face.port, { headers: left, body: ping })).status)
    .toBe(404);
  expect(face.agentCount).toBe(2);
  now += 41;
  await expect.poll(() => face.agentCount).toBe(1);
  expect((await rawRequest(face.port, { headers: used, body: ping })).status).toBe(200);
  expect((await rawRequest(face.port, modernCall(token, 'mcp_counter__echo', {}))).status).toBe(200);
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
  expect([await status(first), await status(second), await status(third)]).toEqual([200, 404, 200]);

  const call = async (token: string) =>
    rawRequest(face.port, modernCall(token, 'mcp_counter__echo', { n: 1 }));
  expect((await call(two)).status).toBe(200);
  expect((await call(three)).status).toBe(200);
  expect(site.events).toContainEqual(expect.objectContaining({ event: 'face_agent_left', agent: 'two' }));
  expect(await status(first)).toBe(200);
  const slow = openRequest(face.port, modernCall(three, 'mcp_counter__slow', { ms: 60_000 }));
  await expect.poll(() => stack.ran('slow').length).toBe(1);
  expect(await call(two)).toMatchObject({ status: 503, headers: { 'retry-after': '10' } });
  await slow[Symbol.asyncDispose]();
  await expect.poll(async () => (await call(two)).status).toBe(200);
});
