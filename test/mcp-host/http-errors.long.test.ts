import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { lastingPort } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';
import { startWorkspace } from '../support/cli/workspace.ts';
import { type HttpEndpoint, startEndpoint } from '../support/mcp-host/http-endpoint.ts';
import { npmServer } from '../support/mcp-host/test-servers.ts';

interface Message {
  id?: number | string;
  method?: string;
  params?: { name?: string; arguments?: { message?: string } };
}

/** Starts server-everything over HTTP. */
async function everythingServer(port?: number): Promise<AsyncDisposable & { url: string; port: number }> {
  port ??= await lastingPort();
  const { command, args = [] } = npmServer('everything', 'streamableHttp');
  const child: ChildProcess = spawn(command, args, {
    env: { PATH: process.env.PATH, PORT: String(port) },
    stdio: 'ignore',
  });
  const url = `http://127.0.0.1:${port}/mcp`;
  await vi.waitFor(() => fetch(url, { method: 'DELETE' }));
  return {
    url,
    port,
    [Symbol.asyncDispose]: async () => {
      if (child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** Relays everything to a server, except the requests for which `answer` returns an answer of its own. */
function relay(
  url: string,
  answer: (message: Message, request: Request) => Response | Promise<Response> | undefined,
): Promise<HttpEndpoint> {
  return startEndpoint(async (request) => {
    const { method, signal } = request;
    const body = method === 'POST' ? await request.text() : null;
    const own = answer(body === null ? {} : (JSON.parse(body) as Message), request);
    if (own) return own;
    const headers = new Headers(request.headers);
    for (const name of ['connection', 'content-length', 'host']) headers.delete(name);
    const response = await fetch(url, { method, headers, body, signal });
    const answered = new Headers(response.headers);
    answered.delete('content-encoding');
    return new Response(response.body, { status: response.status, headers: answered });
  });
}

const page = '<!DOCTYPE html><html><head><title>Bad gateway</title></head><body>nginx</body></html>';
const html = { headers: { 'content-type': 'text/html' } };

/** The answers of servers that know only `initialize` to the question for their revision. */
const firstAnswers: Record<string, () => Response | Promise<Response>> = {
  silent: () => new Promise(() => {}),
  unauthorized: () => new Response('no such session', { status: 401 }),
  forbidden: () => new Response(null, { status: 403 }),
  failing: () => new Response('internal error', { status: 500 }),
  accepting: () => new Response(null, { status: 202 }),
  empty: () => new Response(null, { status: 200, headers: { 'content-type': 'application/json' } }),
  page: () => new Response(page, { status: 200, ...html }),
  resetting: () => new Response(new ReadableStream({ start: (body) => body.error(new Error('reset')) })),
};

const secret = 'Zk9-a-value-of-a-header-77';

/** The answers of a server to calls of `echo`, by the message. */
const callAnswers: Record<string, (id: number | string) => Response> = {
  'an error under 400': (id) =>
    Response.json(
      {
        jsonrpc: '2.0',
        id,
        error: { code: -32602, message: 'there is no city Atlantis', data: { city: 1 } },
      },
      { status: 400 },
    ),
  'an error under 500': (id) =>
    Response.json(
      { jsonrpc: '2.0', id, error: { code: -32603, message: `cannot build: ${'x'.repeat(5000)} linker` } },
      { status: 500 },
    ),
  'an error that names no request': () =>
    Response.json(
      { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'disk full' } },
      { status: 503 },
    ),
  'too many requests': () => new Response('quota used up', { status: 429, headers: { 'retry-after': '7' } }),
  'an error under 429': (id) =>
    Response.json(
      { jsonrpc: '2.0', id, error: { code: -32000, message: 'slow down' } },
      { status: 429, headers: { 'retry-after': '9' } },
    ),
  'an error under 503 that may come again': (id) =>
    Response.json(
      { jsonrpc: '2.0', id, error: { code: -32000, message: 'restarting', data: { node: 3 } } },
      { status: 503, headers: { 'retry-after': '11' } },
    ),
  'an error of some megabytes': (id) =>
    Response.json(
      { jsonrpc: '2.0', id, error: { code: -32000, message: 'wrong table', data: 'x'.repeat(5_000_000) } },
      { status: 500 },
    ),
  'an error of many megabytes': (id) =>
    Response.json(
      { jsonrpc: '2.0', id, error: { code: -32000, message: 'x'.repeat(30_000_000) } },
      { status: 500 },
    ),
  'an error with deep data': (id) => {
    const data = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const body = `{"jsonrpc":"2.0","id":${id},"error":{"code":-32000,"message":"no such branch","data":${data}}}`;
    return new Response(body, { status: 500, headers: { 'content-type': 'application/json' } });
  },
  'a secret where a long text is cut': () =>
    new Response(`${'x'.repeat(490)}${secret}${'y'.repeat(3000)}${secret}${'z'.repeat(490)}`, {
      status: 500,
    }),
  'a page': () => new Response(page, { status: 502, ...html }),
};

it('A server behind HTTP that dislikes the question for its revision is asked in the older way and serves, after any answer and after none; the errors that a server sends under HTTP 4xx and 5xx reach the caller, and lock nobody out.', async () => {
  await using server = await everythingServer();
  await using opened = new AsyncDisposableStack();
  const mcpServers: Record<string, object> = {};
  for (const [name, answer] of Object.entries(firstAnswers)) {
    const { url } = opened.use(
      await relay(server.url, ({ method }) => (method === 'server/discover' ? answer() : undefined)),
    );
    mcpServers[name] = {
      type: 'http',
      url,
      ...(['silent', 'accepting'].includes(name) && { startTimeoutMs: 4000 }),
    };
  }
  const { url } = opened.use(
    await relay(server.url, ({ id, method, params }) => {
      const answer = callAnswers[params?.arguments?.message ?? ''];
      return method === 'tools/call' && answer ? answer(id!) : undefined;
    }),
  );
  mcpServers.odd = { type: 'http', url, headers: { 'x-key': { value: secret, secret: true } } };
  await using workspace = await startWorkspace(() =>
    JSON.stringify({
      broker: { listen: '127.0.0.1:0', data: './state' },
      mcpServers,
      roles: { clerk: { tools: ['*'] } },
    }),
  );
  const { env } = await workspace.agent('rosa', 'clerk');
  const run = (...args: string[]) => workspace.run(args, env);
  await vi.waitFor(async () => {
    const { stdout } = await run('tools', 'list', '--json');
    for (const name of Object.keys(mcpServers)) expect(stdout).toContain(`"mcp_${name}__echo"`);
  });
  for (const name of ['silent', 'resetting'])
    expect((await run('tools', 'call', `mcp_${name}__echo`, '{"message":"hello"}')).stdout).toContain(
      'hello',
    );

  const errors: Record<string, unknown> = {};
  for (const message of Object.keys(callAnswers)) {
    const { stdout } = await run('tools', 'call', 'mcp_odd__echo', JSON.stringify({ message }), '--json');
    errors[message] = (JSON.parse(stdout) as { error: unknown }).error;
  }
  expect(errors).toMatchObject({
    'an error under 400': {
      code: 'invalid_arguments',
      message: expect.stringContaining('there is no city Atlantis'),
      rpc_error: { code: -32602, data: { city: 1 } },
    },
    'an error under 500': {
      code: 'internal',
      // The beginning and the cause at the end are there, and the error says that something is left out between them.
      message: expect.stringMatching(/cannot build: x+ \[…\d+ characters…\] x+ linker/),
    },
    'an error that names no request': { message: expect.stringContaining('disk full') },
    'too many requests': {
      message: expect.stringContaining('HTTP 429: quota used up'),
      retryable: true,
      retry_after_seconds: 7,
      may_have_run: false,
    },
    'an error under 429': { retryable: true, retry_after_seconds: 9, may_have_run: false },
    'an error under 503 that may come again': {
      code: 'internal',
      message: expect.stringContaining('restarting'),
      retry_after_seconds: 11,
      rpc_error: { code: -32000, data: { node: 3 } },
    },
    'an error of some megabytes': { code: 'internal', message: expect.stringContaining('wrong table') },
    'an error of many megabytes': {
      code: 'result_too_large',
      message: expect.stringContaining('raise limits.answerBytes of the server'),
    },
    'an error with deep data': { code: 'internal', message: expect.stringContaining('no such branch') },
    'a page': { message: expect.stringContaining('HTTP 502: Bad gateway') },
  });
  const text = JSON.stringify(errors);
  for (const part of [secret.slice(0, 6), secret.slice(-8)]) expect(text).not.toContain(part);
  expect((await run('tools', 'call', 'mcp_odd__echo', '{"message":"hello"}')).stdout).toContain('hello');
});

it('A 400 within a session is the end of an unsafe call, not a reason to send it again; while the server is away, calls of any of its tools fail in good time, say why and when it is tried again, and run again when it is back; a redirect names the address to configure.', async () => {
  await using server = await everythingServer();
  let sent = 0;
  await using endpoint = await relay(server.url, ({ method, params }) => {
    if (method !== 'tools/call' || params?.arguments?.message !== 'pay') return undefined;
    sent++;
    return new Response('the receipt could not be printed', { status: 400 });
  });
  await using moved = await relay(
    server.url,
    () => new Response(null, { status: 308, headers: { location: `${server.url}?key=of-somebody` } }),
  );
  const mcpServers = {
    moved: { type: 'http', url: moved.url },
    shop: { type: 'http', url: endpoint.url, neverRepeat: ['*'] },
    web: { type: 'http', url: server.url, downWaitMs: 300 },
    absent: { type: 'http', url: `http://127.0.0.1:${await lastingPort()}/mcp` },
  };
  await using workspace = await startWorkspace(() =>
    JSON.stringify({
      broker: { listen: '127.0.0.1:0', data: './state' },
      mcpServers,
      roles: { clerk: { tools: ['*'] } },
    }),
  );
  const { env } = await workspace.agent('rosa', 'clerk');
  const call = (message: string) =>
    workspace.run(['tools', 'call', 'mcp_shop__echo', JSON.stringify({ message })], env);
  await vi.waitFor(async () => expect((await call('hello')).stdout).toContain('hello'));
  expect((await workspace.run(['servers', 'show', 'moved', '--config', 'signalbox.yaml'])).stdout).toContain(
    `HTTP 308: it redirects to ${server.url}; if that is the server, write this address as its url\n`,
  );
  expect((await call('pay')).stderr).toContain('the receipt could not be printed');
  expect(sent).toBe(1);

  await server[Symbol.asyncDispose]();
  const long = ['--timeout', '10m', '--json'];
  const echo = (name: string) =>
    workspace.run(['tools', 'call', `mcp_${name}__echo`, '{"message":"hello"}', ...long], env);
  expect(JSON.parse((await echo('absent')).stdout).error).toMatchObject({
    code: 'mcp_server_unreachable',
    may_have_run: false,
    message: expect.stringMatching(/'absent' has not listed its tools yet: .*ECONNREFUSED/),
  });
  expect(JSON.parse((await echo('web')).stdout).error).toMatchObject({
    code: 'mcp_server_unreachable',
    retryable: true,
    may_have_run: false,
    retry_after_seconds: expect.any(Number),
    message: expect.stringMatching(/ECONNREFUSED.*attempts in a row .* have failed, and the next one/),
    hint: expect.stringContaining('The call was not made: it waits at most 0.3 s'),
  });
  await using _again = await everythingServer(server.port);
  await vi.waitFor(async () => expect((await echo('web')).stdout).toContain('hello'));
});

const unknown = { code: -32600, message: 'Session not found' };

/** The answers of servers to a request of a session that they do not know. */
const forgetfulAnswers: Record<string, (id: number | string | undefined) => Response> = {
  'an error under 404 that names the request': (id) =>
    Response.json({ jsonrpc: '2.0', id, error: unknown }, { status: 404 }),
  'an error under 200': (id) => Response.json({ jsonrpc: '2.0', id, error: unknown }),
  'an error under 200 that names no request': () =>
    Response.json({ jsonrpc: '2.0', id: null, error: unknown }),
  'an error in a stream': (id) =>
    new Response(`data: ${JSON.stringify({ jsonrpc: '2.0', id, error: unknown })}\n\n`, {
      headers: { 'content-type': 'text/event-stream' },
    }),
  'a text under 401': () => new Response('Unauthorized: Session not found', { status: 401 }),
  'an error under 503': (id) => Response.json({ jsonrpc: '2.0', id, error: unknown }, { status: 503 }),
  'a text under 400, through a bridge': () =>
    new Response('Bad Request: No valid session ID provided', { status: 400 }),
};

/** Returns the entry of supergateway, a bridge from a pipe to a server behind HTTP, which never begins a new session. */
function bridgeTo(url: string): object {
  const manifest = createRequire(import.meta.url).resolve('supergateway/package.json');
  const args = [join(manifest, '../dist/index.js'), '--streamableHttp', url, '--outputTransport', 'stdio'];
  return { command: process.execPath, args };
}

/** Runs `signalbox up` with these servers, and connects the official client to its face. */
async function officialClient(mcpServers: object): Promise<AsyncDisposable & { client: Client }> {
  const config = {
    broker: { listen: '127.0.0.1:0', data: './state' },
    worker: { http: '127.0.0.1:0' },
    mcpServers,
    roles: { clerk: { tools: ['*'] } },
  };
  await using opened = new AsyncDisposableStack();
  const workspace = opened.use(await startWorkspace(() => JSON.stringify(config), { face: true }));
  const { env } = await workspace.agent('rosa', 'clerk');
  const authorization = `Bearer ${(await readFile(env.SIGNALBOX_TOKEN_FILE!, 'utf8')).trim()}`;
  const client = new Client({ name: 'official', version: '1' });
  const url = new URL(workspace.ready.face!.url!);
  const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization } } });
  await client.connect(transport as Transport);
  opened.defer(() => client.close());
  const resources = opened.move();
  return { client, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Calls echo of a server. Returns the text of its answer, or the words of its error. */
function echo(client: Client, server: string, message: string): Promise<string> {
  return client.callTool({ name: `mcp_${server}__echo`, arguments: { message } }).then(
    ({ content }) => JSON.stringify(content),
    (error) => String(error),
  );
}

it('A server that has forgotten a session in its own way fails one call at most; an error of a tool ends no session.', async () => {
  await using server = await everythingServer();
  await using opened = new AsyncDisposableStack();
  const mcpServers: Record<string, object> = {};
  const forgotten = new Set<string>();
  const served: { server: string; name: string; sessions: Set<string> }[] = [];
  for (const [name, answer] of Object.entries(forgetfulAnswers)) {
    const sessions = new Set<string>();
    const { url } = opened.use(
      await relay(server.url, ({ id, method, params }, { headers }) => {
        const session = headers.get('mcp-session-id');
        if (session === null || method === undefined) return undefined;
        sessions.add(session);
        if (forgotten.has(session)) return answer(id);
        const isRefused = method === 'tools/call' && params?.arguments?.message === 'fail';
        return isRefused ? Response.json({ jsonrpc: '2.0', id, error: unknown }) : undefined;
      }),
    );
    served.push({ server: `s${served.length}`, name, sessions });
    mcpServers[served.at(-1)!.server] = name.endsWith('bridge') ? bridgeTo(url) : { type: 'http', url };
  }
  const { client } = opened.use(await officialClient(mcpServers));
  for (const { server, name, sessions } of served) {
    await vi.waitFor(async () => expect(await echo(client, server, 'hello'), name).toContain('hello'));
    expect(await echo(client, server, 'fail'), name).toContain('Session not found');
    expect(await echo(client, server, 'hello'), name).toContain('hello');
    expect(sessions.size, name).toBe(1);
    for (const session of sessions) forgotten.add(session);
    await echo(client, server, 'hello');
    await vi.waitFor(async () => expect(await echo(client, server, 'hello'), name).toContain('hello'));
    expect(sessions.size, name).toBe(2);
  }
});

it('A list that changed while the stream of notices was cut, or answered with 502, is read again; streams that a server leaves open after its answers are ended.', async () => {
  await using server = await everythingServer();
  const cut = Promise.withResolvers<void>();
  let state: 'whole' | 'away' | 'changed' = 'whole';
  let streams = 0;
  let left = 0;
  let most = 0;
  await using endpoint = await relay(server.url, ({ id, method, params }, { method: verb, signal }) => {
    if (verb === 'GET' && state === 'away') {
      state = 'changed';
      return new Response(page, { status: 502, ...html });
    }
    if (verb === 'GET') {
      const isFirst = streams++ === 0;
      return streamOf((body) => isFirst && cut.promise.then(() => body.close()));
    }
    // Some servers answer notices with 200.
    if (method === 'notifications/initialized') return new Response('{}', { status: 200 });
    if (method === 'tools/list' && state === 'changed') {
      const later = { name: 'later', inputSchema: { type: 'object' } };
      return Response.json({ jsonrpc: '2.0', id, result: { tools: [later] } });
    }
    if (method !== 'tools/call' || params?.arguments?.message !== 'leave open') return undefined;
    most = Math.max(most, ++left);
    signal.addEventListener('abort', () => left--);
    const answer = { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'answered' }] } };
    return streamOf((body) => body.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(answer)}\n\n`)));
  });
  await using official = await officialClient({ web: { type: 'http', url: endpoint.url } });
  const { client } = official;
  await vi.waitFor(async () => expect(await echo(client, 'web', 'hello')).toContain('hello'));
  for (let i = 0; i < 20; i++) expect(await echo(client, 'web', 'leave open')).toContain('answered');
  await vi.waitFor(() => expect(left).toBe(8));
  expect(most).toBeLessThan(20);
  await vi.waitFor(() => expect(streams).toBe(1));
  state = 'away';
  cut.resolve();
  await vi.waitFor(async () => expect(JSON.stringify(await client.listTools())).toContain('mcp_web__later'));
  expect(streams).toBe(2);
});

function streamOf(start: (body: ReadableStreamDefaultController<Uint8Array>) => unknown): Response {
  const body = new ReadableStream<Uint8Array>({ start: (controller) => void start(controller) });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}
