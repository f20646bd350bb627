import { once } from 'node:events';
import { type Agent, type IncomingHttpHeaders, request } from 'node:http';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type HttpFace, type HttpFaceOptions, serveHttpFace } from '@signalbox/worker';
import { startToolStack, type ToolStack, type ToolStackOptions } from '../orchestrator/tool-stack.ts';
import { connectMcpClient, type Era } from './mcp-client.ts';

/** A {@link ToolStack} with an HTTP face. */
export interface HttpFaceStack extends AsyncDisposable {
  readonly stack: ToolStack;
  readonly face: HttpFace;
  /** The events that the face logged. */
  readonly events: { event: string; [fact: string]: unknown }[];
}

/** Starts a stack, and an HTTP face on a free port. */
export async function startHttpFaceStack(
  stackOptions: ToolStackOptions = {},
  faceOptions: Partial<HttpFaceOptions> = {},
): Promise<HttpFaceStack> {
  await using starting = new AsyncDisposableStack();
  const stack = starting.use(await startToolStack(stackOptions));
  const events: HttpFaceStack['events'] = [];
  const face = starting.use(
    await serveHttpFace({
      listen: { host: '127.0.0.1', port: 0 },
      connect: { url: stack.broker.url },
      version: '1.2.3',
      log: (event) => events.push(event),
      ...faceOptions,
    }),
  );
  const opened = starting.move();
  return { stack, face, events, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** An SDK client of one era on an HTTP face. */
export async function connectHttpFace(url: string, token: string, era: Era) {
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
    reconnectionOptions: {
      initialReconnectionDelay: 10,
      maxReconnectionDelay: 10,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 0,
    },
  });
  const changes: unknown[] = [];
  const connected = await connectMcpClient(transport, {
    era,
    prepare: (client) =>
      client.setNotificationHandler('notifications/tools/list_changed', (told) => {
        changes.push(told);
      }),
  });
  return {
    ...connected,
    transport,
    /** Each notification of a changed list. */
    changes,
    /** The names of the tools that the orchestrator hosts. */
    async hostedTools() {
      const tools = await connected.list();
      return tools.map((tool) => tool.name).filter((name) => name.startsWith('mcp_'));
    },
  };
}

/** The answer to a request that was made without the SDK. */
export interface RawAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface RawOptions {
  method?: string;
  path?: string;
  headers?: Record<string, string>;
  body?: string;
  agent?: Agent;
}

/** Makes a request without the SDK. All headers, `host` too, are sent as they are given. */
export async function rawRequest(port: number, options: RawOptions = {}): Promise<RawAnswer> {
  const { method = 'POST', path = '/mcp', headers = {}, body, agent } = options;
  const sent = request({ host: '127.0.0.1', port, method, path, headers, agent: agent ?? false });
  sent.end(body);
  const [response] = await once(sent, 'response');
  let text = '';
  response.setEncoding('utf8');
  for await (const chunk of response) text += chunk;
  return { status: response.statusCode, headers: response.headers, text };
}

/** Makes a request whose answer may come slowly. Disposing it hangs up. */
export function openRequest(port: number, { method = 'POST', headers = {}, body }: RawOptions) {
  const sent = request({ host: '127.0.0.1', port, method, path: '/mcp', headers, agent: false });
  let status: number | undefined;
  let text = '';
  sent.on('error', () => {});
  sent.on('response', (response) => {
    status = response.statusCode;
    response.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    response.on('error', () => {});
  });
  const ended = new Promise<void>((resolve) => sent.once('close', resolve));
  sent.end(body);
  return {
    status: () => status,
    /** The text that has come so far. */
    text: () => text,
    ended,
    async [Symbol.asyncDispose]() {
      sent.destroy();
      await ended;
    },
  };
}

/** Returns the headers of a valid request. `more` replaces or adds some. */
export function validHeaders(token: string, more: Record<string, string> = {}): Record<string, string> {
  return {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...more,
  };
}

/** A valid `tools/call` of the current revision: its body and the headers that go with it. */
export function modernCall(token: string, name: string, args: unknown, id: number | string = 1) {
  const version = '2026-07-28';
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: {
      name,
      arguments: args,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': version,
        'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  });
  const headers = validHeaders(token, {
    'mcp-protocol-version': version,
    'mcp-method': 'tools/call',
    'mcp-name': name,
  });
  return { body, headers };
}

/** A valid first request of the previous revision. */
export const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 'i',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
});
