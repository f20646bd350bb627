import { Agent } from 'node:http';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { expect, test } from 'vitest';
import { admin, connectOperator } from '../support/broker/wire-actions.ts';
import {
  connectHttpFace,
  initialize,
  modernCall,
  openRequest,
  rawRequest,
  startHttpFaceStack,
  validHeaders,
} from '../support/worker/http-face.ts';
import { eras } from '../support/worker/mcp-client.ts';

test.each(eras)(
  'two agents on one face see and call what their own roles may, as %s clients',
  async (era) => {
    await using site = await startHttpFaceStack({
      allowlist: RoleToolAllowlist.fromEntries([
        ['reader', ['mcp_counter__echo']],
        ['writer', ['mcp_counter__echo', 'mcp_counter__count']],
      ]),
    });
    const { stack, face } = site;
    await using rita = await connectHttpFace(face.url, await stack.broker.token('rita', 'reader'), era);
    await using walt = await connectHttpFace(`${face.url}/`, await stack.broker.token('walt', 'writer'), era);
    expect(rita.client.getInstructions()).toContain("you are 'rita'");
    expect(walt.client.getInstructions()).toContain("the role 'writer'");
    expect(await rita.hostedTools()).toEqual(['mcp_counter__echo']);
    expect(await walt.hostedTools()).toEqual(['mcp_counter__count', 'mcp_counter__echo']);
    expect(await rita.call('mcp_counter__echo', { n: 1 })).toMatchObject({ structuredContent: { n: 1 } });
    expect(await walt.call('mcp_counter__count')).toMatchObject({ structuredContent: { n: 1 } });
    await expect(rita.call('mcp_counter__count')).rejects.toMatchObject({ code: -32602 });
    expect(stack.ran('count')).toHaveLength(2);
    expect(face.agentCount).toBe(2);
  },
);

test.each(eras)(
  'progress reaches a %s client that asked for it, and a cancellation reaches the server',
  async (era) => {
    await using site = await startHttpFaceStack({}, { heartbeatMs: 100 });
    const { stack, face } = site;
    await using wim = await connectHttpFace(face.url, await stack.broker.token('wim'), era);
    const messages: (string | undefined)[] = [];
    const slept = await wim.call(
      'mcp_counter__slow',
      { ms: 800 },
      { onprogress: ({ message }) => messages.push(message) },
    );
    expect(slept).toMatchObject({ structuredContent: { slept: 800 } });
    // Those that reach a starved process in one breath with the result come too late to be told.
    const steps = messages.filter((text) => text?.startsWith('step'));
    expect(steps).toEqual(['step 1', 'step 2', 'step 3'].slice(0, Math.max(1, steps.length)));
    expect(messages.some((text) => text?.startsWith('still running'))).toBe(true);
    const given = new AbortController();
    const call = wim.call('mcp_counter__slow', { ms: 60_000 }, { signal: given.signal });
    await expect.poll(() => stack.ran('slow').length).toBe(3);
    given.abort();
    await expect(call).rejects.toThrow();
    await expect.poll(() => stack.ran('slow').at(-1)?.at).toBe('cancelled');
    expect(await wim.call('mcp_counter__echo', { n: 2 })).toMatchObject({ structuredContent: { n: 2 } });
  },
);

test('a changed list is told to the clients whom it concerns and to nobody else, in both eras', async () => {
  const readers = RoleToolAllowlist.fromEntries([
    ['reader', ['mcp_counter__echo']],
    ['writer', ['mcp_counter__count']],
  ]);
  await using site = await startHttpFaceStack({ allowlist: readers });
  const { stack, face } = site;
  const tokens = {
    rita: await stack.broker.token('rita', 'reader'),
    walt: await stack.broker.token('walt', 'writer'),
  };
  await using ritaThen = await connectHttpFace(face.url, tokens.rita, 'legacy');
  await using ritaNow = await connectHttpFace(face.url, tokens.rita, 'modern');
  await using waltThen = await connectHttpFace(face.url, tokens.walt, 'legacy');
  await using waltNow = await connectHttpFace(face.url, tokens.walt, 'modern');
  await ritaNow.client.listen({ toolsListChanged: true });
  await waltNow.client.listen({ toolsListChanged: true });
  stack.orchestrator.setPolicy({
    allowlist: RoleToolAllowlist.fromEntries([
      ['reader', ['mcp_counter__echo', 'mcp_counter__big']],
      ['writer', ['mcp_counter__count']],
    ]),
  });
  await expect.poll(() => [ritaThen.changes.length, ritaNow.changes.length]).toEqual([1, 1]);
  for (const rita of [ritaThen, ritaNow]) {
    expect(await rita.hostedTools()).toEqual(['mcp_counter__big', 'mcp_counter__echo']);
  }
  stack.orchestrator.setPolicy({
    allowlist: RoleToolAllowlist.fromEntries([
      ['reader', ['mcp_counter__echo', 'mcp_counter__big']],
      ['writer', []],
    ]),
  });
  await expect.poll(() => [waltThen.changes.length, waltNow.changes.length]).toEqual([1, 1]);
  expect([ritaThen.changes.length, ritaNow.changes.length]).toEqual([1, 1]);
  expect(await waltThen.hostedTools()).toEqual([]);
});

test('a change that no stream could tell of is told to the session once its stream is open', async () => {
  await using site = await startHttpFaceStack();
  const { stack, face } = site;
  const token = await stack.broker.token('wim');
  const opened = await rawRequest(face.port, { headers: validHeaders(token), body: initialize });
  const within = validHeaders(token, { 'mcp-session-id': String(opened.headers['mcp-session-id']) });
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const names = async () => {
    const { text } = await rawRequest(face.port, { headers: within, body: JSON.stringify(list) });
    return (JSON.parse(text) as { result: { tools: unknown[] } }).result.tools.length;
  };
  const before = await names();
  stack.orchestrator.setPolicy({
    allowlist: RoleToolAllowlist.fromEntries([['worker', ['mcp_counter__echo']]]),
  });
  await expect.poll(names).toBe(before - 5);
  await using stream = openRequest(face.port, { method: 'GET', headers: within });
  await expect.poll(() => stream.text()).toContain('notifications/tools/list_changed');
  await using another = openRequest(face.port, { method: 'GET', headers: within });
  await stream.ended;
  stack.orchestrator.setPolicy({
    allowlist: RoleToolAllowlist.fromEntries([['worker', ['mcp_counter__big']]]),
  });
  await expect.poll(() => another.text()).toContain('notifications/tools/list_changed');
});

test('a call is answered with JSON until there is progress to tell, and then with events', async () => {
  await using site = await startHttpFaceStack();
  const { stack, face } = site;
  const token = await stack.broker.token('wim');
  const opened = await rawRequest(face.port, { headers: validHeaders(token), body: initialize });
  const within = validHeaders(token, { 'mcp-session-id': String(opened.headers['mcp-session-id']) });
  const slow = (id: number, meta: object) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'mcp_counter__slow', arguments: { ms: 400 }, _meta: meta },
    });
  const plain = await rawRequest(face.port, { headers: within, body: slow(1, {}) });
  expect(plain).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
  expect(JSON.parse(plain.text)).toMatchObject({ id: 1, result: { structuredContent: { slept: 400 } } });
  const told = await rawRequest(face.port, { headers: within, body: slow(2, { progressToken: 'p' }) });
  expect(told.headers['content-type']).toBe('text/event-stream');
  const messages = told.text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as { method?: string; id?: number });
  const progress = messages.slice(0, -1);
  expect(progress.length).toBeGreaterThan(0);
  expect(progress.map(({ method }) => method)).toEqual(progress.map(() => 'notifications/progress'));
  expect(messages.at(-1)).toMatchObject({ id: 2 });
  const noStream = { ...within, accept: 'application/json' };
  const silent = await rawRequest(face.port, { headers: noStream, body: slow(3, { progressToken: 'p' }) });
  expect(JSON.parse(silent.text)).toMatchObject({ id: 3, result: { structuredContent: { slept: 400 } } });
});

test.each(eras)('a %s caller that hangs up takes its call with it, down to the server', async (era) => {
  await using site = await startHttpFaceStack();
  const { stack, face } = site;
  const token = await stack.broker.token('wim');
  const sound = modernCall(token, 'mcp_counter__slow', { ms: 60_000 });
  const legacy = async () => {
    const opened = await rawRequest(face.port, { headers: validHeaders(token), body: initialize });
    const headers = validHeaders(token, { 'mcp-session-id': String(opened.headers['mcp-session-id']) });
    const params = { name: 'mcp_counter__slow', arguments: { ms: 60_000 } };
    return { headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }) };
  };
  const call = openRequest(face.port, era === 'modern' ? sound : await legacy());
  await expect.poll(() => stack.ran('slow').length).toBe(1);
  await call[Symbol.asyncDispose]();
  await expect.poll(() => stack.ran('slow').map(({ at }) => at)).toEqual(['start', 'cancelled']);
});

test('A plain call of the current revision has the same answer as one with further fields, which the SDK answers.', async () => {
  await using site = await startHttpFaceStack();
  const { stack, face } = site;
  const token = await stack.broker.token('wim');
  const withField = (call: ReturnType<typeof modernCall>, meta: object) => {
    const { params, ...message } = JSON.parse(call.body);
    const body = JSON.stringify({ ...message, params: { ...params, ...meta } });
    return rawRequest(face.port, { ...call, body });
  };
  for (const [name, args] of [
    ['mcp_counter__echo', { n: 1 }],
    ['mcp_counter__slow', { ms: 'not a number' }],
    ['mcp_counter__nowhere', {}],
    ['signalbox_list_agents', {}],
    ['signalbox_reply', {}],
  ] as const) {
    const call = modernCall(token, name, args, name);
    const answers = [await rawRequest(face.port, call), await withField(call, { further: 1 })];
    const [own, sdks] = answers.map(({ status, headers, text }) => ({
      status,
      type: headers['content-type'],
      // Each call has an id of its own, and agents are seen at different times.
      text: text.replaceAll(/"signalbox\/call_id":"[^"]+"|\d{13}/g, ''),
    }));
    expect(own).toEqual(sdks);
    expect(own).toMatchObject({ status: 200, type: 'application/json', text: expect.stringContaining(name) });
  }
});

test('a cancelled call of a session ends its request, and its id can be used again', async () => {
  await using site = await startHttpFaceStack();
  const { stack, face } = site;
  const token = await stack.broker.token('wim');
  const opened = await rawRequest(face.port, { headers: validHeaders(token), body: initialize });
  const headers = validHeaders(token, { 'mcp-session-id': String(opened.headers['mcp-session-id']) });
  const post = (message: object) =>
    rawRequest(face.port, { headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
  const call = {
    id: 7,
    method: 'tools/call',
    params: { name: 'mcp_counter__slow', arguments: { ms: 60_000 } },
  };
  const running = post(call);
  await expect.poll(() => stack.ran('slow').length).toBe(1);
  expect(await post(call)).toMatchObject({
    status: 400,
    text: expect.stringContaining('a request with the id 7 is running in this session already'),
  });
  expect(await post({ method: 'notifications/cancelled', params: { requestId: 7 } })).toMatchObject({
    status: 202,
  });
  expect(await running).toMatchObject({ status: 202, text: '' });
  await expect.poll(() => stack.ran('slow').at(-1)?.at).toBe('cancelled');
  const echo = { id: 7, method: 'tools/call', params: { name: 'mcp_counter__echo', arguments: { n: 7 } } };
  expect(JSON.parse((await post(echo)).text)).toMatchObject({ result: { structuredContent: { n: 7 } } });
});

test('a token that is revoked in mid-session ends its streams and sessions, and its next request gets 401', async () => {
  await using site = await startHttpFaceStack();
  const { stack, face } = site;
  const { id, token } = await stack.broker.broker.issueToken({ agent: 'wim', role: 'worker' });
  const kept = await stack.broker.token('kim');
  await using agent = new KeptConnections();
  const begin = async (text: string) => {
    const opened = await rawRequest(face.port, { headers: validHeaders(text), body: initialize, agent });
    const headers = validHeaders(text, { 'mcp-session-id': String(opened.headers['mcp-session-id']) });
    return { headers, stream: openRequest(face.port, { method: 'GET', headers }) };
  };
  const wim = await begin(token);
  const kim = await begin(kept);
  await expect.poll(() => [wim.stream.status(), kim.stream.status()]).toEqual([200, 200]);
  const ping = (headers: Record<string, string>) =>
    rawRequest(face.port, { headers, agent, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
  expect((await ping(wim.headers)).status).toBe(200);
  await using operator = await connectOperator(stack.broker);
  await admin(operator, 'token_revoke', { id });
  await wim.stream.ended;
  expect(await ping(wim.headers)).toMatchObject({
    status: 401,
    headers: { 'www-authenticate': expect.stringContaining('error="invalid_token"') },
  });
  expect((await ping(kim.headers)).status).toBe(200);
  expect(face.agentCount).toBe(1);
  await kim.stream[Symbol.asyncDispose]();
});

test('a face that is asked to end answers what it has running and cancels it in the server', async () => {
  await using site = await startHttpFaceStack();
  const { stack, face } = site;
  const token = await stack.broker.token('wim');
  await using wim = await connectHttpFace(face.url, token, 'legacy');
  const then = wim.call('mcp_counter__slow', { ms: 60_000 });
  const { headers, body } = modernCall(token, 'mcp_counter__slow', { ms: 60_000 });
  const now = rawRequest(face.port, { headers, body });
  await expect.poll(() => stack.ran('slow').length).toBe(2);
  await face.close();
  const cancelled = {
    isError: true,
    structuredContent: { error: { code: 'cancelled', may_have_run: true } },
  };
  expect(await then).toMatchObject(cancelled);
  expect(JSON.parse((await now).text)).toMatchObject({ result: cancelled });
  await expect.poll(() => stack.ran('slow').filter(({ at }) => at === 'cancelled').length).toBe(2);
  await expect(rawRequest(face.port, { headers, body })).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

class KeptConnections extends Agent implements AsyncDisposable {
  constructor() {
    super({ keepAlive: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.destroy();
  }
}
