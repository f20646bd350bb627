import { once } from 'node:events';
import {
  createMcpHandler,
  fromJsonSchema,
  type McpHttpHandler,
  McpServer,
  Server,
} from '@modelcontextprotocol/server';
import { lastingPort } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';
import { type HttpEndpoint, startEndpoint } from '../support/mcp-host/http-endpoint.ts';
import { legacyServer, start } from '../support/mcp-host/http-servers.ts';
import { call, startTestHost } from '../support/mcp-host/test-host.ts';
import { toolNamed } from '../support/mcp-host/test-servers.ts';

interface Modern extends AsyncDisposable {
  endpoint: HttpEndpoint;
  handler: McpHttpHandler;
  tools: unknown[];
  eras: Set<string>;
  log: string[];
}

/**
 * A server of the 2026 revision with two tools: `hang` reports progress and waits for its end, `greet` answers. With `older` it lists
 * nothing, and those in older revisions.
 */
async function modernServer(port = 0, older?: unknown[]): Promise<Modern> {
  const tools: unknown[] = older ? [] : [toolNamed('greet', { 'x-vendor': 1 }), toolNamed('hang')];
  const eras = new Set<string>();
  const log: string[] = [];
  const handler = createMcpHandler(({ era }) => {
    eras.add(era);
    const server = new Server(
      { name: 'm', version: '1' },
      { capabilities: { tools: { listChanged: true } } },
    );
    server.setRequestHandler('tools/list', () => ({
      tools: (era === 'modern' ? tools : (older ?? tools)) as [],
    }));
    server.setRequestHandler('tools/call', async ({ params }, ctx) => {
      log.push(`${params.name} started`);
      if (params.name === 'greet') return { content: [{ type: 'text', text: 'hello' }], 'x-extra': 1 };
      const progressToken = ctx.mcpReq._meta?.progressToken ?? 'none';
      await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
      await once(ctx.mcpReq.signal, 'abort');
      log.push('hang cancelled');
      return { content: [] };
    });
    return server;
  });
  const endpoint = await startEndpoint((request) => handler.fetch(request), port);
  return {
    endpoint,
    handler,
    tools,
    eras,
    log,
    async [Symbol.asyncDispose]() {
      await endpoint[Symbol.asyncDispose]();
      await handler.close();
    },
  };
}

it('speaks the current revision with a server that knows it', async () => {
  await using server = await modernServer();
  await using host = start(server.endpoint.url, { authorization: 'Bearer tok-123456' });
  const { tools, problems } = await host.inventory();
  expect(problems).toEqual([]);
  expect(tools).toEqual([toolNamed('mcp_web__greet', { 'x-vendor': 1 }), toolNamed('mcp_web__hang')]);
  expect(await call(host, 'mcp_web__greet')).toMatchObject({
    result: { content: [{ type: 'text', text: 'hello' }], 'x-extra': 1 },
  });
  expect([...server.eras]).toEqual(['modern']);
  expect(
    server.endpoint.requests.every((headers) => headers.get('authorization') === 'Bearer tok-123456'),
  ).toBe(true);
});

it('quarantines a bad tool of a server of the current revision, too', async () => {
  await using server = await modernServer();
  server.tools.push({ name: 'broken', inputSchema: 'none' });
  await using host = start(server.endpoint.url);
  const { tools, problems } = await host.inventory();
  expect(tools.map(({ name }) => name)).toEqual(['mcp_web__greet', 'mcp_web__hang']);
  expect(problems).toEqual([
    { server: 'web', tool: 'broken', message: expect.stringContaining('inputSchema') },
  ]);
});

const byRegion = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } };

it('repeats arguments in headers for a tool that wants that, and keeps all of its result', async () => {
  await using server = await modernServer();
  server.tools[0] = toolNamed('greet', { inputSchema: byRegion });
  await using host = start(server.endpoint.url);
  expect((await host.inventory()).tools[0]).toMatchObject({ inputSchema: byRegion });
  expect(await call(host, 'mcp_web__greet', { region: 'Åre' })).toMatchObject({
    result: { content: [{ text: 'hello' }], 'x-extra': 1 },
  });
  expect(server.endpoint.requests.at(-1)!.get('mcp-param-region')).toBe('=?base64?w4VyZQ==?=');
});

it('is served by a server that insists on these headers', async () => {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'strict', version: '1' });
    const inputSchema = fromJsonSchema<{ region: string }>(byRegion as { type: 'object' });
    server.registerTool('where', { inputSchema }, ({ region }) => ({
      content: [{ type: 'text', text: region }],
    }));
    return server;
  });
  await using endpoint = await startEndpoint((request) => handler.fetch(request));
  await using host = start(endpoint.url);
  await host.inventory();
  expect(await call(host, 'mcp_web__where', { region: 'eu-1' })).toMatchObject({
    result: { content: [{ text: 'eu-1' }] },
  });
  await handler.close();
});

it('is asked in an older revision where it lists nothing in the current one, as some proxies do, and only then', async () => {
  await using proxy = await modernServer(0, [toolNamed('greet')]);
  await using host = start(proxy.endpoint.url);
  expect((await host.inventory()).tools).toEqual([toolNamed('mcp_web__greet')]);
  expect(await call(host, 'mcp_web__greet')).toMatchObject({ result: { content: [{ text: 'hello' }] } });

  await using empty = await modernServer(0, []);
  await using waiting = start(empty.endpoint.url);
  expect((await waiting.inventory()).tools).toEqual([]);
  expect([...empty.eras]).toEqual(['modern', 'legacy']);
  const changed = new Promise((resolve) => waiting.onInventoryChanged(resolve));
  empty.tools.push(toolNamed('later'));
  empty.handler.notify.toolsChanged();
  expect(await changed).toMatchObject({ tools: [{ name: 'mcp_web__later' }] });
});

it('learns of changed tools from a server of the current revision', async () => {
  await using server = await modernServer();
  await using host = start(server.endpoint.url);
  await host.inventory();
  const changed = new Promise((resolve) => host.onInventoryChanged(resolve));
  server.tools.push(toolNamed('later'));
  server.handler.notify.toolsChanged();
  expect(await changed).toMatchObject({ tools: [{}, {}, { name: 'mcp_web__later' }] });
});

it('carries progress and an abort over HTTP', async () => {
  await using server = await modernServer();
  await using host = start(server.endpoint.url);
  await host.inventory();
  const abort = new AbortController();
  const onProgress = vi.fn(() => abort.abort());
  const outcome = await call(host, 'mcp_web__hang', {}, { signal: abort.signal, onProgress });
  expect(outcome).toMatchObject({ error: { code: 'cancelled', may_have_run: true } });
  expect(onProgress).toHaveBeenCalledExactlyOnceWith({ progress: 1 });
  await vi.waitFor(() => expect(server.log).toEqual(['hang started', 'hang cancelled']));
});

it('ends a call at once when its server breaks off, and uses the server again when it is back', async () => {
  await using server = await modernServer();
  const web = { type: 'http' as const, url: server.endpoint.url, downWaitMs: 1 };
  await using host = startTestHost({ servers: { web } });
  await host.inventory();
  const onProgress = vi.fn();
  const running = call(host, 'mcp_web__hang', {}, { onProgress });
  await vi.waitFor(() => expect(onProgress).toHaveBeenCalled());
  await server.endpoint.crash();
  expect(await running).toMatchObject({ error: { code: 'outcome_unknown', may_have_run: true } });
  expect(await call(host, 'mcp_web__greet')).toMatchObject({
    error: { code: 'mcp_server_unreachable', retryable: true, may_have_run: false },
  });
  await using again = await modernServer(server.endpoint.port);
  await vi.waitFor(() => expect(host.servers()[0]).toMatchObject({ state: 'ready' }));
  expect(await call(host, 'mcp_web__greet')).toHaveProperty('result');
  expect(again.log).toEqual(['greet started']);
});

it('says what is wrong with an endpoint that refuses us, without the credentials', async () => {
  await using endpoint = await startEndpoint(async () => new Response('no tok-123456', { status: 401 }));
  await using host = start(`${endpoint.url}?key=key-123456`, { authorization: 'Bearer tok-123456' });
  const { tools, problems } = await host.inventory();
  expect(tools).toEqual([]);
  expect(problems).toEqual([{ server: 'web', message: 'not available: HTTP 401: no [redacted]' }]);
  expect(JSON.stringify([host.events, host.servers()])).not.toContain('123456');
});

it('says that nobody answers at a URL', async () => {
  await using host = start(`http://127.0.0.1:${await lastingPort()}/mcp`);
  expect((await host.inventory()).problems).toEqual([
    { server: 'web', message: 'not available: cannot be reached (ECONNREFUSED)' },
  ]);
});

it('gets a new session when the server has forgotten the old one', async () => {
  const port = await lastingPort();
  await using _server = await legacyServer(port);
  const forget = { session: '' };
  // A relay that makes the server forget one session, as a restart between two calls would.
  await using relay = await startEndpoint(async (request) => {
    const headers = new Headers(request.headers);
    headers.delete('connection');
    headers.delete('content-length');
    if (forget.session !== '' && headers.get('mcp-session-id') === forget.session) {
      return new Response('unknown session', { status: 404 });
    }
    const body = request.method === 'POST' ? await request.text() : null;
    const { signal, method } = request;
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, { method, headers, body, signal });
    const answered = new Headers(response.headers);
    answered.delete('content-encoding');
    answered.delete('transfer-encoding');
    return new Response(response.body, { status: response.status, headers: answered });
  });
  await using host = start(relay.url);
  await host.seen('server_ready');
  const sum = () => call(host, 'mcp_web__get-sum', { a: 1, b: 1 });
  expect(await sum()).toHaveProperty('result');
  forget.session = relay.requests.at(-1)!.get('mcp-session-id')!;
  expect(await sum()).toHaveProperty('result');
  expect(relay.requests.at(-1)!.get('mcp-session-id')).not.toBe(forget.session);
});

it.each(['an error', 'a text under 400'])(
  'does not begin one session after the other with a server that fails calls and answers ping with %s',
  async (how) => {
    const sessions = new Set<string>();
    await using endpoint = await startEndpoint(async (request) => {
      if (request.method !== 'POST') return new Response(null, { status: 405 });
      const { id, method } = (await request.json()) as { id?: number; method: string };
      const answer = (more: object, headers = {}) =>
        Response.json({ jsonrpc: '2.0', id, ...more }, { headers });
      switch (method) {
        case 'initialize': {
          const session = `s${sessions.size}`;
          sessions.add(session);
          const result = {
            protocolVersion: '2025-11-25',
            capabilities: { tools: {} },
            serverInfo: { name: 'own', version: '1' },
          };
          return answer({ result }, { 'mcp-session-id': session });
        }
        case 'tools/list':
          return answer({ result: { tools: [toolNamed('fail')] } });
        case 'tools/call':
          return answer({ error: { code: -32602, message: 'wrong' } });
        default:
          if (id === undefined) return new Response(null, { status: 202 });
          return how === 'an error'
            ? answer({ error: { code: -32600, message: 'unknown' } })
            : new Response('unknown', { status: 400 });
      }
    });
    await using host = startTestHost({
      servers: { web: { type: 'http', url: endpoint.url, protocol: 'legacy' } },
    });
    await host.seen('server_ready');
    for (let n = 0; n < 20; n++) expect(await call(host, 'mcp_web__fail')).toHaveProperty('error');
    await host.seen('server_lost');
    // The first is lost, and the answer to ping under 400 ends another one by itself.
    expect(sessions.size).toBeLessThan(4);
    await vi.waitFor(() => expect(host.servers()[0]).toMatchObject({ state: 'ready' }));
    for (let n = 0; n < 20; n++)
      expect(await call(host, 'mcp_web__fail')).toMatchObject({ error: { code: 'invalid_arguments' } });
    expect(sessions.size).toBeLessThan(4);
  },
);
