import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { input, openCatalog, restTool } from '../support/capabilities/test-catalog.ts';
import { json, startWebServer } from '../support/capabilities/web-server.ts';

const canary = 's3cret/"canary"';
const env = { API_KEY: canary, USER_PASS: 'ada:pass word!', OTHER: 'other-canary' };

it('puts a secret where its auth says, and nowhere else', async () => {
  await using server = await startWebServer((_, response) => json(response, 200, {}));
  const tool = (name: string, auth: unknown) =>
    restTool(name, { base_url: server.origin, params: { a: 1 } }, { auth });
  await using tools = await openCatalog(
    {
      '1.json': tool('bearer', { type: 'bearer', key: 'env:API_KEY' }),
      '2.json': tool('word', { type: 'bearer', key: 'env:API_KEY', prefix: 'Token' }),
      '3.json': tool('header', { type: 'header', key: 'env:API_KEY', header: 'X-Key' }),
      '4.json': tool('query', { type: 'query', key: 'env:API_KEY', param: 'k' }),
      '5.json': tool('basic', { type: 'basic', key: 'env:USER_PASS' }),
    },
    { allowHosts: [server.host], env },
  );
  expect(tools.catalog.problems()).toEqual([]);
  for (const name of ['bearer', 'word', 'header', 'query', 'basic']) await tools.call(name);
  const seen = server.arrivals.map(({ url, headers }) => [url, headers.authorization ?? headers['x-key']]);
  expect(seen).toEqual([
    ['/?a=1', `Bearer ${canary}`],
    ['/?a=1', `Token ${canary}`],
    ['/?a=1', canary],
    ['/?a=1&k=s3cret%2F%22canary%22', undefined],
    ['/?a=1', `Basic ${Buffer.from('ada:pass word!').toString('base64')}`],
  ]);
});

it('reads a secret of a file again at each call, by field if asked', async () => {
  await using server = await startWebServer((_, response) => json(response, 200, {}));
  const tool = (name: string, key: string) =>
    restTool(name, { base_url: server.origin }, { auth: { type: 'bearer', key } });
  await using tools = await openCatalog({}, { allowHosts: [server.host] });
  const write = (token: string) =>
    writeFile(join(tools.directory, '../keys.json'), JSON.stringify({ api: { token } }));
  await write('first');
  await writeFile(join(tools.directory, '../plain'), 'whole file\n');
  await tools.write({
    'a.json': tool('field', 'file:../keys.json#api.token'),
    'b.json': tool('whole', `file:${join(tools.directory, '../plain')}`),
  });
  await tools.catalog.reload();
  expect(tools.catalog.problems()).toEqual([]);
  await tools.call('field');
  await write('second');
  await tools.call('field');
  await tools.call('whole');
  expect(server.arrivals.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer first',
    'Bearer second',
    'Bearer whole file',
  ]);
  await writeFile(join(tools.directory, '../keys.json'), '{}');
  expect(await tools.call('field')).toMatchObject({
    error: {
      code: 'internal',
      may_have_run: false,
      message: expect.stringContaining('the file has no such field'),
    },
  });
  expect(server.arrivals).toHaveLength(3);
});

it('no text of a caller can name a secret', async () => {
  await using server = await startWebServer(({ url, headers, body }, response) =>
    json(response, 200, { url, headers, body }),
  );
  const config = {
    base_url: server.origin,
    path: '/{p}',
    allow_slashes: true,
    method: 'POST',
    headers: { 'x-text': '{p}' },
    params: { q: '{p}', t: 'a {p}' },
    body: { b: '{p}', o: '{o}' },
  };
  await using tools = await openCatalog(
    {
      'a.json': restTool('echo', config, {
        ...input({ p: {}, o: {} }, ['p']),
        auth: { type: 'bearer', key: 'env:API_KEY' },
      }),
    },
    { allowHosts: [server.host], env },
  );
  for (const p of [
    'env:OTHER',
    '{env:OTHER}',
    ['$', '{env:OTHER}'].join(''),
    '{p}',
    '{{p}}',
    '{o}',
    'file:/etc/passwd',
    '{auth.key}',
  ]) {
    const outcome = await tools.call('echo', { p, o: { key: p, auth: { key: 'env:OTHER' } } });
    expect(JSON.stringify(outcome)).not.toMatch(/canary|root:/);
    const { headers, body } = server.arrivals.at(-1)!;
    expect(JSON.parse(body)).toEqual({ b: p, o: { key: p, auth: { key: 'env:OTHER' } } });
    expect(headers['x-text']).toBe(p);
  }
  expect(JSON.stringify(server.arrivals)).not.toContain('other-canary');
});

it('a secret that a service repeats is taken out of results and errors', async () => {
  let status = 200;
  await using server = await startWebServer(({ headers, url }, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    const token = headers.authorization!;
    const answer = { token, coded: Buffer.from(token.split(' ')[1]!).toString('base64'), url, [token]: 1 };
    const escaped = (text: string) => `\\u${text.charCodeAt(0).toString(16).padStart(4, '0')}`;
    response.end(
      JSON.stringify(answer)
        .replaceAll('/', '\\/')
        .replaceAll('canary', (word) => `${escaped(word)}anary`),
    );
  });
  await using tools = await openCatalog(
    {
      'a.json': restTool(
        'echo',
        { base_url: server.origin },
        { auth: { type: 'bearer', key: 'env:API_KEY' } },
      ),
    },
    { allowHosts: [server.host], env },
  );
  expect(await tools.call('echo')).toMatchObject({
    result: {
      structuredContent: {
        token: 'Bearer [redacted]',
        coded: '[redacted]',
        url: '/',
        'Bearer [redacted]': 1,
      },
    },
  });
  for (status of [400, 401, 500]) {
    const text = JSON.stringify(await tools.call('echo'));
    expect(text).toContain('[redacted]');
    expect(text).not.toMatch(/anary/);
  }
});

it('keys and headers of a file do not follow a redirect to another origin, nor reach a fallback there', async () => {
  await using other = await startWebServer((_, response) => json(response, 200, { end: true }));
  await using server = await startWebServer(({ url }, response) => {
    if (url.startsWith('/go')) response.writeHead(307, { location: other.origin }).end();
    else response.writeHead(500).end();
  });
  const headers = { 'x-tenant': 'tenant-canary', accept: 'text/plain' };
  const auth = { type: 'header', header: 'x-key', key: 'env:API_KEY' };
  const provider = (base_url: string) => ({ service: 'rest', config: { base_url } });
  await using tools = await openCatalog(
    {
      'a.json': restTool('go', { base_url: server.origin, path: '/go', headers }, { auth }),
      'b.json': {
        name: 'spare',
        auth,
        metadata: { read_only: true },
        providers: {
          primary: provider(server.origin),
          fallback: [provider(`${server.origin}/2`), provider(other.origin)],
        },
      },
    },
    { allowHosts: ['127.0.0.1'], env },
  );
  expect(await tools.call('go')).toMatchObject({ result: { structuredContent: { end: true } } });
  expect(await tools.call('spare')).toMatchObject({ result: { structuredContent: { end: true } } });
  expect(server.arrivals.map(({ url, headers: sent }) => [url, sent['x-key']])).toEqual([
    ['/go', canary],
    ['/', canary],
    ['/2', canary],
  ]);
  expect(other.arrivals).toHaveLength(2);
  expect(other.arrivals[0]!.headers.accept).toBe('text/plain');
  expect(JSON.stringify(other.arrivals)).not.toContain('canary');
});

it('a secret that is missing, empty or of two lines is a problem at its line, which shows no value', async () => {
  const tool = (name: string, key: string) => ({
    [`${name}.yaml`]: `name: ${name}
providers:
  primary: { service: rest, config: { base_url: https://api.example } }
auth:
  type: bearer
  key: ${key}
`,
  });
  await using tools = await openCatalog(
    {
      ...tool('a', 'env:MISSING'),
      ...tool('b', 'env:EMPTY'),
      ...tool('c', 'env:LINES'),
      ...tool('d', 'file:nowhere.txt'),
      ...tool('e', 'canary-in-the-file'),
    },
    { env: { EMPTY: '', LINES: 'canary\nsecond' } },
  );
  const messages = tools.catalog.problems().map(({ message }) => message.replace(`${tools.directory}/`, ''));
  expect(messages).toEqual([
    'a.yaml:6:3: auth.key: env:MISSING: the environment variable is not set',
    'b.yaml:6:3: auth.key: env:EMPTY: it is empty',
    'c.yaml:6:3: auth.key: env:LINES: it has more than one line',
    'd.yaml:6:3: auth.key: file:nowhere.txt: the file cannot be read (ENOENT)',
    'e.yaml:6:3: auth.key: must be env:VARIABLE, file:PATH or file:PATH#FIELD; the secret itself does not belong here',
  ]);
  expect(tools.catalog.tools()).toEqual([]);
});
