import { expect, it } from 'vitest';
import { input, openCatalog, restTool } from '../support/capabilities/test-catalog.ts';
import { json, startWebServer } from '../support/capabilities/web-server.ts';

it('calls a REST service with typed, encoded values and answers in the shape of MCP', async () => {
  await using server = await startWebServer((_, response) => json(response, 200, { items: [{ id: 7 }] }));
  const properties = { id: {}, tags: {}, limit: {}, note: {}, size: { default: 3 } };
  await using tools = await openCatalog(
    {
      'a.yaml': `
name: put_item
title: Put an item
description: Puts it.
schema:
  input: ${JSON.stringify({ type: 'object', properties, required: ['id'] })}
providers:
  primary:
    service: rest
    config:
      base_url: ${server.origin}/v1/
      path: /items/{id}
      allow_slashes: true
      method: PUT
      headers: { X-Note: "{note}" }
      params: { tag: "{tags}", limit: "{limit}", size: "{size}", fixed: "a b", json: "{{}}" }
      body: { id: "{id}", label: "item {id}", tags: "{tags}", limit: "{limit}", deep: [ "{limit}", { size: "{size}" } ] }
      response_path: items[0]
metadata: { idempotent: true, destructive: false, tags: [items] }
`,
    },
    { allowHosts: [server.host] },
  );
  expect(tools.catalog.problems()).toEqual([]);
  expect(tools.catalog.tools()).toEqual([
    {
      name: 'put_item',
      title: 'Put an item',
      description: 'Puts it.',
      inputSchema: { type: 'object', properties, required: ['id'] },
      annotations: { title: 'Put an item', idempotentHint: true, destructiveHint: false },
      _meta: { 'signalbox/tags': ['items'] },
    },
  ]);
  const outcome = await tools.call('put_item', { id: 'a/b ?#%', tags: ['x&y', 2], note: 'hi' });
  expect(outcome).toEqual({
    result: { content: [{ type: 'text', text: '{"id":7}' }], structuredContent: { id: 7 } },
  });
  expect(server.arrivals[0]).toMatchObject({
    method: 'PUT',
    url: '/v1/items/a%2Fb%20%3F%23%25?tag=x%26y&tag=2&size=3&fixed=a%20b&json=%7B%7D',
    headers: { 'x-note': 'hi', 'content-type': 'application/json', 'user-agent': 'signalbox' },
  });
  expect(JSON.parse(server.arrivals[0]!.body)).toEqual({
    id: 'a/b ?#%',
    label: 'item a/b ?#%',
    tags: ['x&y', 2],
    deep: [{ size: 3 }],
  });
  await tools.call('put_item', { id: 5, limit: false });
  expect(JSON.parse(server.arrivals[1]!.body)).toEqual({
    id: 5,
    label: 'item 5',
    limit: false,
    deep: [false, { size: 3 }],
  });
  // Null clears a field of many services, so it is a value of its own.
  await tools.call('put_item', { id: 5, limit: null });
  expect(JSON.parse(server.arrivals[2]!.body)).toMatchObject({ limit: null, deep: [null, { size: 3 }] });
});

it('refuses values that could leave their place, before anything is sent', async () => {
  await using server = await startWebServer((_, response) => json(response, 200, {}));
  await using tools = await openCatalog(
    {
      'a.json': restTool(
        'read',
        { base_url: `${server.origin}/v1`, path: '/a/{x}/b', headers: { 'x-h': '{h}' } },
        input({ x: {}, h: {} }, ['x']),
      ),
      'b.json': restTool(
        'read_file',
        { base_url: `${server.origin}/v1`, path: '/files/{x}', allow_slashes: true },
        input({ x: {} }, ['x']),
      ),
    },
    { allowHosts: [server.host] },
  );
  const bad = [
    { x: '..' },
    { x: '%2e%2e' },
    { x: '..\\..' },
    { x: '../..' },
    { x: 'a/b' },
    { x: 'a%2fb' },
    { x: 'a%5Cb' },
    { x: 'a%252Fb' },
    { x: '.' },
    { x: '' },
    { x: null },
    { x: '\ud800' },
    { x: 'a', h: 'v\r\nx-evil: 1' },
    { x: 'a', h: '→' },
  ];
  for (const args of bad) {
    expect(await tools.call('read', args), JSON.stringify(args)).toMatchObject({
      error: { code: 'invalid_arguments', category: 'validation', may_have_run: false },
    });
  }
  expect(server.arrivals).toEqual([]);
  for (const x of ['../b', 'a/..', 'a\\..\\b']) {
    expect(await tools.call('read_file', { x }), x).toMatchObject({ error: { code: 'invalid_arguments' } });
  }
  expect(server.arrivals).toEqual([]);
  await tools.call('read', { x: 'a?b' });
  for (const x of ['src/a b.ts', '//evil.example']) await tools.call('read_file', { x });
  expect(server.arrivals.map(({ url }) => url)).toEqual([
    '/v1/a/a%3Fb/b',
    '/v1/files/src%2Fa%20b.ts',
    '/v1/files/%2F%2Fevil.example',
  ]);
});

it('checks arguments like those of MCP tools', async () => {
  await using tools = await openCatalog({
    'a.json': restTool('typed', { base_url: 'http://127.0.0.1:1' }, input({ n: { type: 'integer' } }, ['n'])),
  });
  expect(await tools.call('typed', { n: 'many' })).toMatchObject({
    error: { code: 'invalid_arguments', may_have_run: false },
  });
  expect(await tools.call('nothing')).toMatchObject({
    error: { code: 'tool_not_found', may_have_run: false },
  });
});

it('sends forms and texts with their types, and reads texts, empty answers and answers without a type', async () => {
  const answers = [
    { type: 'text/plain; charset=utf-8', body: 'plain ünï' },
    { status: 204 },
    { body: '[1,2]' },
    { type: 'image/png', body: 'png' },
    { type: 'application/json', body: '{"half":' },
  ];
  await using server = await startWebServer((_, response) => {
    const { status = 200, type, body } = answers.shift()!;
    response.writeHead(status, type === undefined ? {} : { 'content-type': type }).end(body);
  });
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  await using tools = await openCatalog(
    {
      'a.json': restTool(
        'form',
        { base_url: server.origin, method: 'POST', headers: form, body: { q: '{q}', more: [1, 2] } },
        input({ q: {} }),
      ),
      'b.json': restTool('text', { base_url: server.origin, method: 'POST', body: 'fixed {{text}}' }),
    },
    { allowHosts: [server.host] },
  );
  expect(await tools.call('form', { q: 'a&b=c' })).toEqual({
    result: { content: [{ type: 'text', text: 'plain ünï' }] },
  });
  expect(await tools.call('form')).toMatchObject({
    result: { content: [{ text: 'done (HTTP 204, no content)' }] },
  });
  expect(await tools.call('text')).toEqual({ result: { content: [{ type: 'text', text: '[1,2]' }] } });
  expect(await tools.call('text')).toMatchObject({
    error: {
      code: 'internal',
      may_have_run: true,
      message: expect.stringContaining('neither JSON nor text'),
    },
  });
  expect(await tools.call('text')).toMatchObject({
    error: { message: expect.stringContaining('does not parse') },
  });
  expect(server.arrivals.slice(0, 3).map(({ body, headers }) => [headers['content-type'], body])).toEqual([
    ['application/x-www-form-urlencoded', 'q=a%26b%3Dc&more=1&more=2'],
    ['application/x-www-form-urlencoded', 'more=1&more=2'],
    ['text/plain;charset=utf-8', 'fixed {text}'],
  ]);
});

it('tells a refusal a model can act on from a failure it cannot', async () => {
  const answers: [number, Record<string, string>, string][] = [
    [404, {}, '{"error":"no such item"}'],
    [429, { 'retry-after': '17' }, 'slow down'],
    [503, {}, 'down'],
    [401, {}, 'who are you'],
    [403, { 'retry-after': '5' }, 'secondary limit'],
    [418, {}, 'x'.repeat(9_000)],
  ];
  await using server = await startWebServer((_, response) => {
    const [status, headers, body] = answers.shift()!;
    response.writeHead(status, headers).end(body);
  });
  await using tools = await openCatalog(
    {
      'a.json': restTool('safe', { base_url: server.origin }, { metadata: { read_only: true } }),
      'b.json': restTool('unsafe', { base_url: server.origin, method: 'POST' }),
    },
    { allowHosts: [server.host] },
  );
  expect(await tools.call('safe')).toEqual({
    result: {
      isError: true,
      content: [{ type: 'text', text: `${server.host} answered HTTP 404: {"error":"no such item"}` }],
    },
  });
  expect(await tools.call('unsafe')).toMatchObject({
    error: { code: 'mcp_server_unreachable', retryable: true, may_have_run: false, retry_after_seconds: 17 },
  });
  expect(await tools.call('unsafe')).toMatchObject({
    error: {
      code: 'outcome_unknown',
      retryable: false,
      may_have_run: true,
      message: expect.stringContaining('503'),
    },
  });
  expect(await tools.call('safe')).toMatchObject({
    error: {
      code: 'internal',
      retryable: false,
      may_have_run: false,
      hint: expect.stringContaining('add auth'),
    },
  });
  expect(await tools.call('safe')).toMatchObject({ error: { retryable: true, retry_after_seconds: 5 } });
  const long = await tools.call('safe');
  expect(JSON.stringify(long).length).toBeLessThan(5_000);
  expect(long).toMatchObject({ result: { isError: true } });
});
