import { once } from 'node:events';
import { createMcpHandler, Server, type ServerContext } from '@modelcontextprotocol/server';
import type { HttpServerConfig, ServerPolicy } from '@signalbox/mcp-host';
import { startEndpoint } from './http-endpoint.ts';
import { toolNamed } from './test-servers.ts';

/** The failures that a call can get instead of its answer: HTTP 502, HTTP 401, or a response that breaks off. */
type Trouble = 'gateway' | 'unauthorized' | 'break';

export interface PolicyServer extends AsyncDisposable {
  config(policy?: ServerPolicy): HttpServerConfig;
  /** The arguments of every call that reached the endpoint, by tool. */
  calls: [tool: string, args: unknown][];
  /** Sessions so far. */
  sessions(): number;
  /** The trouble of each of the next calls, in order. */
  troubles: Trouble[];
  /** Lets the calls of `hold` end. */
  open(): void;
  /** One more tool from now on, which the server announces. */
  addTool(name: string): void;
  /** Breaks every connection off, and takes no new ones. */
  crash(): Promise<void>;
}

const readOnly = { annotations: { readOnlyHint: true } };
const properties = { count: { type: 'integer' }, ok: { type: 'boolean' } };

const offered = [
  toolNamed('read', readOnly),
  toolNamed('hold', readOnly),
  toolNamed('write'),
  toolNamed('put', { annotations: { idempotentHint: true } }),
  toolNamed('typed', { inputSchema: { type: 'object', properties, required: ['count'] } }),
];

/**
 * An HTTP server of the 2026 revision for everything a call may meet. Each tool answers how many calls there were, with the
 * fields of its argument `answer` on top of its result; `{fail}` is answered with a JSON-RPC error of that code, and `hold`
 * waits for `open()` or its end, and reports progress then.
 */
export async function startPolicyServer(): Promise<PolicyServer> {
  const calls: PolicyServer['calls'] = [];
  const troubles: Trouble[] = [];
  const tools = [...offered];
  const gate = Promise.withResolvers<void>();
  let sessions = 0;

  const handler = createMcpHandler(() => {
    const capabilities = { tools: { listChanged: true } };
    const server = new Server({ name: 'policies', version: '1' }, { capabilities });
    server.setRequestHandler('tools/list', () => ({ tools: tools as [] }));
    server.setRequestHandler('tools/call', async ({ params }, ctx) => {
      const args = params.arguments ?? {};
      const n = calls.length;
      if (params.name === 'hold') await hold(ctx, gate.promise);
      if (typeof args.fail === 'number') throw Object.assign(new Error('it said no'), { code: args.fail });
      return { content: [{ type: 'text', text: String(n) }], ...(args.answer as object) };
    });
    return server;
  });

  const endpoint = await startEndpoint(async (request) => {
    const { method, params } = await messageIn(request);
    if (method === 'server/discover') sessions++;
    if (method !== 'tools/call') return handler.fetch(request);
    calls.push([params?.name ?? '', params?.arguments]);
    return inTrouble(troubles.shift()) ?? handler.fetch(request);
  });

  return {
    calls,
    troubles,
    sessions: () => sessions,
    open: gate.resolve,
    config: (policy = {}) => ({ type: 'http', url: endpoint.url, ...policy }),
    crash: endpoint.crash,
    addTool(name) {
      tools.push(toolNamed(name));
      handler.notify.toolsChanged();
    },
    async [Symbol.asyncDispose]() {
      gate.resolve();
      await endpoint[Symbol.asyncDispose]();
      await handler.close();
    },
  };
}

interface Message {
  method?: string;
  params?: { name?: string; arguments?: unknown };
}

async function messageIn(request: Request): Promise<Message> {
  return request.method === 'POST' ? ((await request.clone().json()) as Message) : {};
}

/** Waits, and reports progress when it is over. */
async function hold({ mcpReq }: ServerContext, opened: Promise<void>): Promise<void> {
  await Promise.race([opened, once(mcpReq.signal, 'abort')]);
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
}

function inTrouble(trouble: Trouble | undefined): Response | undefined {
  if (trouble === 'gateway') return new Response('bad gateway', { status: 502 });
  if (trouble === 'unauthorized') return new Response('who are you', { status: 401 });
  if (trouble !== 'break') return undefined;
  const broken = new ReadableStream({ pull: (controller) => controller.error(new Error('broken off')) });
  return new Response(broken, { headers: { 'content-type': 'application/json' } });
}
