import { once } from 'node:events';
import { type Agent, type IncomingHttpHeaders, request } from 'node:http';
import { Client, type StandardSchemaV1, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Tool } from '@signalbox/protocol';
import { type HttpFace, type HttpFaceOptions, serveHttpFace } from '@signalbox/worker';
import { expect } from 'vitest';
import { startToolFleet, type ToolFleet, type ToolFleetOptions } from '../orchestrator/tool-stack.ts';

/** Takes what came as it is: the SDK's own schemas drop fields that they do not know. */
const untouched = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
} as StandardSchemaV1<unknown, Record<string, unknown>>;

/** `expect.poll` with patience for a busy machine. */
export const eventually: typeof expect.poll = (read, options) =>
  expect.poll(read, { timeout: 20_000, ...options });

export type Era = 'legacy' | 'modern';
export const eras: readonly Era[] = ['legacy', 'modern'];

export interface HttpFleet extends AsyncDisposable {
  readonly fleet: ToolFleet;
  readonly face: HttpFace;
  /** What the face logged. */
  readonly events: { event: string; [fact: string]: unknown }[];
}

/** A fleet with an HTTP face on a free port. */
export async function startHttpFleet(
  fleetOptions: ToolFleetOptions = {},
  faceOptions: Partial<HttpFaceOptions> = {},
): Promise<HttpFleet> {
  await using starting = new AsyncDisposableStack();
  const fleet = starting.use(await startToolFleet(fleetOptions));
  const events: HttpFleet['events'] = [];
  const face = starting.use(
    await serveHttpFace({
      listen: { host: '127.0.0.1', port: 0 },
      connect: { url: fleet.broker.url },
      version: '1.2.3',
      log: (event) => events.push(event),
      ...faceOptions,
    }),
  );
  const opened = starting.move();
  return { fleet, face, events, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** An SDK client of one era on a face. */
export async function httpClient(url: string, token: string, era: Era) {
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
    reconnectionOptions: {
      initialReconnectionDelay: 10,
      maxReconnectionDelay: 10,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 0,
    },
  });
  const mode = era === 'modern' ? ('auto' as const) : ('legacy' as const);
  const client = new Client({ name: 'agent', version: '1.0.0' }, { versionNegotiation: { mode } });
  const changes: unknown[] = [];
  client.setNotificationHandler('notifications/tools/list_changed', (told) => {
    changes.push(told);
  });
  await client.connect(transport);
  return {
    client,
    transport,
    /** Each notice of a changed list. */
    changes,
    /** Names of the tools that the orchestrator hosts. */
    async hosted() {
      const { tools } = await client.request({ method: 'tools/list', params: {} }, untouched);
      return (tools as Tool[]).map((tool) => tool.name).filter((name) => name.startsWith('mcp_'));
    },
    call: (
      name: string,
      args: Record<string, unknown> = {},
      options: Parameters<Client['request']>[2] = {},
    ) => client.request({ method: 'tools/call', params: { name, arguments: args } }, untouched, options),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

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

/** What a request of one's own making gets; `host` and other headers are sent as they are given. */
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

/** A request whose answer may take its time; disposing it hangs up. */
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
    /** What has come so far. */
    text: () => text,
    ended,
    async [Symbol.asyncDispose]() {
      sent.destroy();
      await ended;
    },
  };
}

/** The headers of a sound request, with `more` over them. */
export function soundHeaders(token: string, more: Record<string, string> = {}): Record<string, string> {
  return {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...more,
  };
}

/** A sound `tools/call` of the current revision: its body, and the headers that go with it. */
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
  const headers = soundHeaders(token, {
    'mcp-protocol-version': version,
    'mcp-method': 'tools/call',
    'mcp-name': name,
  });
  return { body, headers };
}

/** A sound first request of the revision before. */
export const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 'i',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
});
