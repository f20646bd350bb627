import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { McpServerConfig, StdioServerConfig } from '@signalbox/mcp-host';
import { createAuthorizer } from '@signalbox/mcp-host/server-auth';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type HttpEndpoint, startEndpoint } from '../support/mcp-host/http-endpoint.ts';
import { noSignIns } from '../support/mcp-host/oauth/host-with-sign-ins.ts';
import { call, startTestHost, type TestHost } from '../support/mcp-host/test-host.ts';

/** The secrets of each server, by their places in its configuration. */
const secrets = new Map<string, Record<string, string>>();

function secret(server: string, kind: string): string {
  const text = randomBytes(20).toString('hex');
  derived(server, kind, text);
  return text;
}

/** Adds the form that a secret has in another place. */
function derived(server: string, kind: string, text: string): void {
  secrets.set(server, { ...secrets.get(server), [kind]: text });
}

function leaker(server: string, ...args: string[]): StdioServerConfig {
  const script = fileURLToPath(new URL('../support/mcp-host/secret-leaking-server.ts', import.meta.url));
  return {
    type: 'stdio',
    command: process.execPath,
    args: [script, '--token', secret(server, 'argv'), ...args],
    env: {
      API_KEY: secret(server, 'env'),
      OTHER: `key=${secret(server, 'env in a longer value')}`,
      LINES: `begin\n${secret(server, 'env of several lines')}\n"end"`,
    },
    secrets: { 'env.OTHER': true, 'env.LINES': true },
    maxRestarts: 0,
  };
}

function web(server: string, url: string): McpServerConfig {
  const at = new URL(url);
  at.searchParams.set('key', secret(server, 'query'));
  return {
    type: 'http',
    url: at.href,
    headers: { authorization: `Bearer ${secret(server, 'bearer')}`, 'x-key': secret(server, 'header') },
    maxRestarts: 0,
  };
}

/** Answers every request with everything that it was told. */
async function repeatAll(request: Request): Promise<Response> {
  const told = [request.url, JSON.stringify([...request.headers]), await request.text()].join(' ');
  const path = new URL(request.url).pathname;
  if (path === '/token') {
    // Cut in the middle of the credentials if it is cut at a round length.
    const description = `${'x'.repeat(160)} ${request.headers.get('authorization')} ${told}`;
    return Response.json({ error: 'invalid_client', error_description: description }, { status: 401 });
  }
  if (path === '/token-odd') return new Response(told);
  if (path === '/refuse')
    return new Response(told, { status: 403, statusText: 'no', headers: { 'x-told': told } });
  if (path === '/fail') return new Response(told, { status: 500 });
  if (path === '/sign-in') {
    return new Response(told, {
      status: 401,
      headers: { 'www-authenticate': `Bearer error="${told.slice(0, 500)}"` },
    });
  }
  if (path === '/odd') return new Response(told, { headers: { 'content-type': 'text/plain' } });
  const id = (() => {
    try {
      return JSON.parse(told.slice(told.indexOf('{'))).id ?? 1;
    } catch {
      return 1;
    }
  })();
  return Response.json({ jsonrpc: '2.0', id, error: { code: -32603, message: told, data: told } });
}

let endpoint: HttpEndpoint;
let host: TestHost;
/** The texts that were written and the server that each is about; undefined for a text about none. */
const said: { about: string | undefined; where: string; text: string }[] = [];

function keep(about: string | undefined, where: string, what: unknown): void {
  const text = what instanceof Error ? `${what.stack} ${JSON.stringify(what)}` : JSON.stringify(what);
  said.push({ about, where, text: text ?? '' });
}

beforeAll(async () => {
  endpoint = await startEndpoint(repeatAll);
  const at = (path: string) => new URL(path, endpoint.url).href;
  const withUser = new URL(at('/fail'));
  withUser.username = secret('user in the url', 'user');
  withUser.password = secret('user in the url', 'password');
  const oauth = (server: string, path: string): McpServerConfig => {
    const clientSecret = secret(server, 'client secret');
    derived(server, 'basic credentials', Buffer.from(`gateway:${clientSecret}`).toString('base64'));
    return {
      ...(web(server, at('/fail')) as McpServerConfig & { type: 'http' }),
      headers: {},
      auth: {
        type: 'client_credentials',
        tokenUrl: `${at(path)}?key=${secret(server, 'token url')}`,
        clientId: 'gateway',
        clientSecret,
      },
    };
  };
  const servers: Record<string, McpServerConfig> = {
    leaker: leaker('leaker'),
    exits: leaker('exits', '--exit'),
    'is not there': {
      type: 'stdio',
      command: `/nowhere/${secret('is not there', 'command')}`,
      args: [secret('is not there', 'argv')],
      env: { KEY: secret('is not there', 'env') },
      maxRestarts: 0,
    },
    refuses: web('refuses', at('/refuse')),
    fails: web('fails', at('/fail')),
    unreachable: web('unreachable', 'http://127.0.0.1:1/mcp'),
    'wants a sign-in': web('wants a sign-in', at('/sign-in')),
    'answers oddly': web('answers oddly', at('/odd')),
    'answers with errors': web('answers with errors', at('/mcp')),
    'user in the url': { type: 'http', url: withUser.href, maxRestarts: 0 },
    'refused by oauth': oauth('refused by oauth', '/token'),
    'odd oauth': oauth('odd oauth', '/token-odd'),
  };
  host = startTestHost({
    servers,
    authorizerFor: (server, { url, auth }) =>
      createAuthorizer({
        server,
        url,
        auth: auth!,
        tokens: noSignIns,
        fetch,
        log: (e) => host.events.push(e),
      }),
  });
  const inventory = await host.inventory();
  const reported: unknown[] = [];
  const answered = await call(
    host,
    'mcp_leaker__answer',
    {},
    { onProgress: (progress) => reported.push(progress) },
  );
  keep('leaker', 'result', answered);
  keep('leaker', 'progress', reported);
  for (const tool of ['leak', 'misuse', 'no_such_tool', 'die', 'leak']) {
    keep('leaker', `call of ${tool}`, await call(host, `mcp_leaker__${tool}`));
  }
  await host.seen('server_ejected', { server: 'leaker' });
  keep('leaker', 'call after it was lost', await call(host, 'mcp_leaker__leak'));
  keep(undefined, 'unknown tool', await call(host, 'mcp_other__tool'));
  keep(undefined, 'unknown server', await host.reload('no such server').catch((error) => error));
  for (const found of await host.discover()) keep(found.server, 'discover', found.error);
  const badUrl = { type: 'http', url: `ftp://u:${secret('bad', 'url')}@h/` } as const;
  keep('bad', 'apply', await host.apply({ ...servers, bad: badUrl }).catch((error) => error));
  keep('bad', 'spawn', await host.spawn('bad', badUrl).catch((error) => error));
  const { problems } = await host.inventory();
  for (const problem of [...inventory.problems, ...problems]) keep(problem.server, 'problem', problem);
  for (const name of Object.keys(servers)) {
    keep(name, 'stderr', host.stderrTail(name));
    keep(name, 'reload', await host.reload(name));
    keep(name, 'stderr after reload', host.stderrTail(name));
  }
  for (const status of host.servers()) keep(status.name, 'status', status);
  await host.close();
  for (const event of host.events) keep(event.server as string | undefined, `event ${event.event}`, event);
});

afterAll(() => endpoint[Symbol.asyncDispose]());

/** Returns true if the text has a part of the secret that is long enough to be of use: a cut secret counts, too. */
function holds(text: string, secret: string): boolean {
  const partLength = 12;
  return Array.from({ length: secret.length - partLength + 1 }, (_, at) =>
    secret.slice(at, at + partLength),
  ).some((part) => text.includes(part));
}

function leaks(of: (about: string | undefined, server: string, kind: string) => boolean): string[] {
  const found = said.flatMap(({ about, where, text }) =>
    [...secrets].flatMap(([server, kinds]) =>
      Object.entries(kinds)
        .filter(([kind, secret]) => of(about, server, kind) && holds(text, secret))
        .map(([kind]) => `${kind} of '${server}' in ${where}${about === server ? '' : ` of '${about}'`}`),
    ),
  );
  return [...new Set(found)];
}

it('makes servers fail in every way, each of which says something', () => {
  const failing = new Set(
    said.filter(({ where }) => where === 'event server_ejected').map(({ about }) => about),
  );
  expect([...failing].toSorted()).toEqual([...secrets.keys()].filter((name) => name !== 'bad').toSorted());
  const places = new Set(said.filter(({ text }) => text.length > 4).map(({ where }) => where));
  for (const place of [
    'problem',
    'status',
    'stderr',
    'discover',
    'apply',
    'event server_noise',
    'event auth_failed',
  ]) {
    expect(places).toContain(place);
  }
  expect(said.find(({ where }) => where === 'call of leak')?.text).toContain('[redacted]');
});

it("tells nothing of one server's configuration where another fails", () => {
  expect(leaks((about, server) => about !== server)).toEqual([]);
});

it("takes a server's secrets out of results and progress, names of fields and escaped texts included", () => {
  const [result, progress] = ['result', 'progress'].map(
    (place) => said.find(({ where }) => where === place)?.text,
  );
  expect(JSON.parse(result!)).toEqual({
    result: {
      content: [
        { type: 'text', text: '{"key":"[redacted]"}' },
        { type: 'resource_link', uri: 'file:///[redacted]', name: 'ordinary' },
      ],
      structuredContent: { '[redacted]': '[redacted]' },
    },
  });
  expect(progress).toContain('[redacted]');
});

it("takes a server's own secrets out of its errors, problems, status, log and standard error", () => {
  expect(leaks((about, server, kind) => about === server && kind !== 'argv' && kind !== 'command')).toEqual(
    [],
  );
});
