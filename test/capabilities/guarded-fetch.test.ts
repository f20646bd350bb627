import { createGuardedFetch, type GuardedInit } from '@signalbox/mcp-host/guarded-fetch';
import { expect, it } from 'vitest';
import { type Arrival, startWebServer, type WebServer } from '../support/capabilities/web-server.ts';

type Routes = Record<string, (response: import('node:http').ServerResponse, arrival: Arrival) => void>;

const serve = (routes: Routes): Promise<WebServer> =>
  startWebServer((arrival, response) => {
    const route = routes[arrival.url.split('?')[0]!];
    if (route) route(response, arrival);
    else response.writeHead(404).end();
  });

const redirectTo =
  (status: number, location: string): Routes[string] =>
  (response) => {
    response.writeHead(status, { location }).end();
  };

async function refusalOf(
  answer: Promise<Response>,
): Promise<{ code: unknown; message: string; details: unknown }> {
  const error = await answer.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Error);
  const { code, message, details } = error as Error & { code: unknown; details: unknown };
  return { code, message, details };
}

it('refuses private hosts by name, address or disguise, and says how to allow one', async () => {
  await using server = await serve({ '/': (response) => response.end('secret of the house') });
  const port = server.host.split(':')[1];
  await using guarded = createGuardedFetch();
  const hosts = ['127.0.0.1', 'localhost', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]', '[::1]', '0.0.0.0'];
  for (const host of hosts) {
    const refusal = await refusalOf(guarded(`http://${host}:${port}/`));
    expect(refusal, host).toMatchObject({ code: 'network_blocked', details: { hop: 0 } });
    expect(refusal.message, host).toContain('name it in allowHosts');
  }
  expect(server.arrivals).toEqual([]);
  await using allowed = createGuardedFetch({ allowHosts: [server.host] });
  const response = await allowed(`${server.origin}/`);
  expect(response).toBeInstanceOf(Response);
  expect([response.status, response.url, await response.text()]).toEqual([
    200,
    `${server.origin}/`,
    'secret of the house',
  ]);
});

it('connects to the very answer it judged: a name that means something else a moment later gains nothing', async () => {
  await using server = await serve({ '/': (response) => response.end('reached') });
  const port = server.host.split(':')[1];
  const asked: string[] = [];
  const lookup = async (name: string) => {
    asked.push(name);
    // A second look at the name would lead to an address where nobody answers.
    return asked.length === 1 ? ['127.0.0.1'] : ['127.0.0.2'];
  };
  await using guarded = createGuardedFetch({ lookup, allowHosts: [`rebind.example:${port}`] });
  expect(await (await guarded(`http://rebind.example:${port}/`)).text()).toBe('reached');
  expect(asked).toEqual(['rebind.example']);
  // On another port the name is not allowed, and what it means now is what counts.
  expect(await refusalOf(guarded('http://rebind.example/'))).toMatchObject({
    code: 'network_blocked',
    message: expect.stringContaining('rebind.example is not on the public internet (loopback address)'),
  });
  expect(asked).toHaveLength(2);
});

it('refuses a host that has one private address among public ones, and one that has none', async () => {
  await using mixed = createGuardedFetch({ lookup: async () => ['93.184.216.34', '10.0.0.1'] });
  expect(await refusalOf(mixed('http://mixed.example/'))).toMatchObject({
    code: 'network_blocked',
    message: expect.stringContaining('mixed.example is not on the public internet (private address)'),
  });
  await using none = createGuardedFetch({ lookup: async () => [] });
  expect((await refusalOf(none('http://none.example/'))).code).not.toBe('network_blocked');
});

it('judges each hop of a redirect again', async () => {
  await using inner = await serve({ '/': (response) => response.end('inner') });
  const [, innerPort] = inner.host.split(':');
  await using outer = await serve({
    '/go': redirectTo(302, `${inner.origin}/`),
    '/name': redirectTo(302, `http://turned.example:${innerPort}/`),
    '/ftp': redirectTo(302, 'ftp://x/'),
  });
  await using guarded = createGuardedFetch({ allowHosts: [outer.host], lookup: async () => ['127.0.0.1'] });
  expect(await refusalOf(guarded(`${outer.origin}/name`))).toMatchObject({
    code: 'network_blocked',
    details: { host: 'turned.example', hop: 1 },
  });
  expect(await refusalOf(guarded(`${outer.origin}/go`))).toMatchObject({
    code: 'network_blocked',
    details: { hop: 1 },
  });
  expect(await refusalOf(guarded(`${outer.origin}/ftp`))).toMatchObject({ code: 'network_blocked' });
  expect(inner.arrivals).toEqual([]);
});

it('follows redirects with credentials on one origin and without on another', async () => {
  await using other = await serve({ '/end': (response) => response.end('end') });
  await using server = await serve({
    '/same': redirectTo(307, '/other'),
    '/other': redirectTo(307, `${other.origin}/end`),
  });
  await using guarded = createGuardedFetch({ allowHosts: [server.host, other.host] });
  const init: GuardedInit = {
    method: 'POST',
    body: 'payload',
    headers: { authorization: 'Bearer s3cret', cookie: 'a=b', 'X-Key': 'k3y', accept: 'text/plain' },
    secretHeaders: ['X-Key'],
  };
  const response = await guarded(`${server.origin}/same`, init);
  expect([response.redirected, response.url]).toEqual([true, `${other.origin}/end`]);
  expect(server.arrivals.map(({ headers }) => headers['x-key'])).toEqual(['k3y', 'k3y']);
  expect(other.arrivals).toMatchObject([
    { method: 'POST', body: 'payload', headers: { accept: 'text/plain' } },
  ]);
  expect(JSON.stringify(other.arrivals)).not.toMatch(/s3cret|a=b|k3y/);
});

it('gives up on redirects without end, to nowhere, or where the caller wants none', async () => {
  await using server = await serve({
    '/loop': redirectTo(302, '/loop'),
    '/nowhere': redirectTo(302, 'http://'),
    '/gone': redirectTo(302, 'http://127.0.0.1:1/'),
  });
  await using guarded = createGuardedFetch({ allowHosts: ['127.0.0.1'] });
  expect(await refusalOf(guarded(`${server.origin}/loop`))).toMatchObject({
    code: 'redirect_failed',
    message: '127.0.0.1 redirects more than 5 times',
  });
  expect(server.arrivals).toHaveLength(6);
  expect(await refusalOf(guarded(`${server.origin}/nowhere`))).toMatchObject({ code: 'redirect_failed' });
  expect(await refusalOf(guarded(`${server.origin}/gone`))).toMatchObject({
    code: 'redirect_failed',
    details: { hop: 1 },
  });
  expect(await refusalOf(guarded(`${server.origin}/loop`, { redirect: 'error' }))).toMatchObject({
    code: 'redirect_failed',
  });
  const manual = await guarded(`${server.origin}/loop`, { redirect: 'manual' });
  expect([manual.status, manual.headers.get('location')]).toEqual([302, '/loop']);
});

it('takes no more of an answer than the bound, announced or not', async () => {
  await using server = await serve({
    '/announced': (response) => response.end('x'.repeat(2_000)),
    '/streamed': (response) => {
      response.write('x'.repeat(600));
      response.end('x'.repeat(600));
    },
    '/small': (response) => response.end('x'.repeat(1_000)),
  });
  await using guarded = createGuardedFetch({ allowHosts: [server.host], maxResponseBytes: 1_000 });
  expect(await refusalOf(guarded(`${server.origin}/announced`))).toMatchObject({ code: 'result_too_large' });
  const streamed = await guarded(`${server.origin}/streamed`);
  await expect(streamed.text()).rejects.toMatchObject({ code: 'result_too_large' });
  expect(await (await guarded(`${server.origin}/small`)).text()).toHaveLength(1_000);
});

it.each([
  ['ftp://files.example/', /only http and https/],
  ['file:///etc/passwd', /only http and https/],
  ['/relative', /whole URL/],
  ['http://me:hunter2@files.example/', /files\.example holds a user name or password/],
])('refuses the URL %s without repeating a secret', async (url, message) => {
  await using guarded = createGuardedFetch({ allowHosts: ['*'] });
  const refusal = await refusalOf(guarded(url));
  expect(refusal).toMatchObject({ code: 'network_blocked', message: expect.stringMatching(message) });
  expect(refusal.message).not.toContain('hunter2');
});

it('says that nothing was sent where fetch itself refuses, and where nobody listens', async () => {
  await using guarded = createGuardedFetch({ allowHosts: ['127.0.0.1'] });
  expect(await refusalOf(guarded('http://127.0.0.1:9/'))).toMatchObject({
    code: 'not_sent',
    message: expect.stringContaining('127.0.0.1:9'),
  });
  const server = await startWebServer(() => {});
  await server[Symbol.asyncDispose]();
  await expect(guarded(server.origin)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
});

it('takes a Request, and ends when its caller gives up', async () => {
  await using server = await serve({ '/hang': () => {}, '/': (response, { body }) => response.end(body) });
  await using guarded = createGuardedFetch({ allowHosts: [server.host] });
  const request = new Request(`${server.origin}/`, { method: 'PUT', body: 'echo' });
  expect(await (await guarded(request)).text()).toBe('echo');
  const controller = new AbortController();
  const pending = guarded(`${server.origin}/hang`, { signal: controller.signal });
  await expect.poll(() => server.arrivals.length).toBe(2);
  controller.abort(new Error('enough'));
  await expect(pending).rejects.toThrow('enough');
});
