import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { expect, test } from 'vitest';
import {
  connectHttpFace,
  initialize,
  modernCall,
  openRequest,
  rawRequest,
  startHttpFaceStack,
  validHeaders,
} from '../support/worker/http-face.ts';

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
