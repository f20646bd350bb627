import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { type HttpEndpoint, startEndpoint } from '../http-endpoint.ts';
import { toolNamed } from '../test-servers.ts';
import type { OAuthProvider } from './provider.ts';

/** An MCP server of both revisions that serves only clients with a good token of the provider. */
export interface ProtectedServer extends AsyncDisposable {
  endpoint: HttpEndpoint;
  url: string;
  eras: Set<string>;
  /** The tools that were called. */
  called: string[];
  /** Good tokens that it treats as bad ones. */
  distrusted: Set<string>;
  /** Every token that a client showed, good or bad, once. */
  shown: Set<string>;
  /** Treats every token as a bad one. */
  closed: boolean;
}

export async function startProtectedServer(provider: OAuthProvider): Promise<ProtectedServer> {
  const state = {
    eras: new Set<string>(),
    called: [] as string[],
    distrusted: new Set<string>(),
    shown: new Set<string>(),
    closed: false,
  };
  let latest = '';
  const handler = createMcpHandler(({ era }) => {
    state.eras.add(era);
    const server = new Server({ name: 'p', version: '1' }, { capabilities: { tools: {} } });
    const tools = ['greet', 'admin', 'leak'].map((name) => toolNamed(name));
    server.setRequestHandler('tools/list', () => ({ tools: tools as [] }));
    server.setRequestHandler('tools/call', ({ params }) => {
      state.called.push(params.name);
      if (params.name === 'leak') throw new Error(`cannot work with ${latest}`);
      return { content: [{ type: 'text', text: 'hello' }] };
    });
    return server;
  });
  const refuse = (status: number, challenge: string) =>
    new Response('no', { status, headers: { 'www-authenticate': challenge } });
  const endpoint = await startEndpoint(async (request) => {
    const { pathname, origin } = new URL(request.url);
    const address = `http://127.0.0.1:${endpoint.port}`;
    if (pathname === '/meta') {
      return Response.json({
        resource: `${address}/mcp`,
        authorization_servers: [provider.issuer],
        scopes_supported: ['tools'],
      });
    }
    if (pathname !== '/mcp') return new Response(origin, { status: 404 });
    const token = /^Bearer (.+)$/.exec(request.headers.get('authorization') ?? '')?.[1] ?? '';
    if (token !== '') state.shown.add(token);
    const scope = state.closed || state.distrusted.has(token) ? undefined : await provider.check(token);
    if (scope === undefined) return refuse(401, `Bearer resource_metadata="${address}/meta"`);
    latest = token;
    if (request.headers.get('mcp-name') === 'admin' && !scope.includes('admin')) {
      return refuse(403, 'Bearer error="insufficient_scope", scope="admin"');
    }
    return handler.fetch(request);
  });
  return Object.assign(state, {
    endpoint,
    url: endpoint.url,
    async [Symbol.asyncDispose]() {
      await endpoint[Symbol.asyncDispose]();
      await handler.close();
    },
  });
}
