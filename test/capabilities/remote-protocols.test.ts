import { expect, it } from 'vitest';
import { input, openCatalog, restTool } from '../support/capabilities/test-catalog.ts';
import { json, startWebServer } from '../support/capabilities/web-server.ts';

it('speaks GraphQL: data is the result, errors are a refusal', async () => {
  const answers: [number, unknown][] = [
    [200, { data: { user: { name: 'Ada' } } }],
    [200, { data: { user: null }, errors: [{ message: 'not visible', path: ['user'] }] }],
    [400, { errors: [{ message: 'syntax' }] }],
    [200, { neither: true }],
    [200, { data: {} }],
  ];
  await using server = await startWebServer((_, response) => json(response, ...answers.shift()!));
  const query = 'query ($id: ID!) { user(id: $id) { name } }';
  const config = {
    base_url: server.origin,
    path: '/graphql',
    query,
    variables: { id: '{id}', all: '{all}' },
    response_path: 'user',
  };
  await using tools = await openCatalog(
    {
      'a.json': {
        name: 'user',
        ...input({ id: {}, all: {} }, ['id']),
        providers: { primary: { service: 'graphql', config } },
      },
    },
    { allowHosts: [server.host] },
  );
  expect(await tools.call('user', { id: 7 })).toMatchObject({
    result: { structuredContent: { name: 'Ada' } },
  });
  expect(server.arrivals[0]).toMatchObject({ method: 'POST', url: '/graphql' });
  expect(JSON.parse(server.arrivals[0]!.body)).toEqual({ query, variables: { id: 7 } });
  expect(await tools.call('user', { id: '"}' })).toEqual({
    result: {
      isError: true,
      content: [{ type: 'text', text: 'not visible (at user)\npartial data: {"user":null}' }],
    },
  });
  expect(await tools.call('user', { id: 1 })).toMatchObject({ result: { isError: true } });
  expect(await tools.call('user', { id: 1 })).toMatchObject({ error: { code: 'internal' } });
  expect(await tools.call('user', { id: 1 })).toMatchObject({
    error: { code: 'internal', message: expect.stringContaining('nothing at its response_path') },
  });
});

it('speaks JSON-RPC: result and error, of the request that was made', async () => {
  const answers: ((id: string) => [number, unknown])[] = [
    (id) => [200, { jsonrpc: '2.0', id, result: { sum: 3 } }],
    (id) => [500, { jsonrpc: '2.0', id, error: { code: -32000, message: 'too big', data: { max: 2 } } }],
    () => [400, { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'parse error' } }],
    () => [200, { jsonrpc: '2.0', id: 'other', result: 1 }],
    (id) => [200, { id, result: 1 }],
  ];
  await using server = await startWebServer(({ body }, response) => {
    json(response, ...answers.shift()!((JSON.parse(body) as { id: string }).id));
  });
  const config = { base_url: server.origin, method: 'math.add', params: ['{a}', '{b}', { opt: '{c}' }] };
  await using tools = await openCatalog(
    {
      'a.json': {
        name: 'add',
        ...input({ a: {}, b: {}, c: {} }),
        providers: { primary: { service: 'jsonrpc', config } },
      },
    },
    { allowHosts: [server.host] },
  );
  expect(await tools.call('add', { a: 1, b: '2' })).toMatchObject({
    result: { structuredContent: { sum: 3 } },
  });
  expect(JSON.parse(server.arrivals[0]!.body)).toEqual({
    jsonrpc: '2.0',
    id: expect.any(String),
    method: 'math.add',
    params: [1, '2', {}],
  });
  expect(await tools.call('add')).toMatchObject({
    result: { isError: true, content: [{ text: 'too big (-32000)\n{"max":2}' }] },
  });
  expect(await tools.call('add')).toMatchObject({ result: { isError: true } });
  expect(await tools.call('add')).toMatchObject({
    error: { code: 'internal', message: expect.stringContaining('that nobody made') },
  });
  expect(await tools.call('add')).toMatchObject({ error: { code: 'internal' } });
  expect(new Set(server.arrivals.map(({ body }) => (JSON.parse(body) as { id: string }).id)).size).toBe(5);
});

it('gives no structured result that breaks its own schema.output', async () => {
  const answers: unknown[] = [{ n: 1 }, { n: 'one' }, { n: '1' }, [1]];
  await using server = await startWebServer((_, response) => json(response, 200, answers.shift()));
  const output = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
  await using tools = await openCatalog(
    { 'a.json': restTool('n', { base_url: server.origin }, { schema: { output } }) },
    { allowHosts: [server.host] },
  );
  expect(tools.catalog.tools()).toMatchObject([
    { outputSchema: output, inputSchema: { additionalProperties: false } },
  ]);
  expect(await tools.call('n')).toMatchObject({ result: { structuredContent: { n: 1 } } });
  for (const said of ['{"n":"one"}', '{"n":"1"}', '[1]']) {
    const outcome = await tools.call('n');
    expect(outcome).toMatchObject({
      result: { isError: true, content: [{ text: expect.stringContaining(said) }] },
    });
    expect(outcome).not.toHaveProperty('result.structuredContent');
  }
});
