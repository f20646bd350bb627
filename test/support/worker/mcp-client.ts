import {
  Client,
  type ClientCapabilities,
  type StandardSchemaV1,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import type { StdioServerConfig } from '@signalbox/mcp-host';
import type { Tool } from '@signalbox/protocol';
import { type McpFaceOptions, type McpProxyExecutor, serveMcpFace } from '@signalbox/worker';

/** `legacy`: the MCP revisions up to 2025-11-25; `modern`: 2026-07-28. */
export type Era = 'legacy' | 'modern';
export const eras: readonly Era[] = ['legacy', 'modern'];

type Json = Record<string, unknown>;
type RequestOptions = NonNullable<Parameters<Client['request']>[2]>;

/** An SDK client that returns what comes unchanged. */
export interface McpClient extends AsyncDisposable {
  readonly client: Client;
  list(): Promise<Tool[]>;
  /** Sends any request. */
  request(method: string, params?: Json, options?: RequestOptions): Promise<Json>;
  /** Calls a tool; a result may also be one that asks for input. `params` are further parameters of `tools/call`. */
  call(name: string, args?: unknown, options?: RequestOptions & { params?: Json }): Promise<Json>;
}

export interface McpClientOptions {
  era?: Era;
  capabilities?: ClientCapabilities;
  /** Called before the client connects. */
  prepare?: (client: Client) => void;
}

/** Accepts every result: the SDK's own schemas drop fields that they do not know. */
const anyResult = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
} as StandardSchemaV1<unknown, Json>;

export async function connectMcpClient(
  transport: Transport,
  { era = 'legacy', capabilities = {}, prepare }: McpClientOptions = {},
): Promise<McpClient> {
  const client = new Client(
    { name: 'agent', version: '1.0.0' },
    {
      capabilities,
      versionNegotiation: { mode: era === 'modern' ? 'auto' : 'legacy' },
      inputRequired: { autoFulfill: false },
    },
  );
  prepare?.(client);
  await client.connect(transport);
  return {
    client,
    async list() {
      const { tools } = await client.request({ method: 'tools/list', params: {} }, anyResult);
      return tools as Tool[];
    },
    request: (method, params = {}, options) => client.request({ method, params }, anyResult, options),
    call: (name, args = {}, { params, ...options } = {}) =>
      client.request(
        { method: 'tools/call', params: { name, arguments: args as Json, ...params } },
        anyResult,
        { allowInputRequired: true, ...options },
      ),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** Starts a server process and connects to it. */
export function connectProcess(
  { command, args = [] }: StdioServerConfig,
  options?: McpClientOptions,
): Promise<McpClient> {
  return connectMcpClient(new StdioClientTransport({ command, args, stderr: 'ignore' }), options);
}

export function connectUrl(url: string, options?: McpClientOptions): Promise<McpClient> {
  return connectMcpClient(new StreamableHTTPClientTransport(new URL(url)), options);
}

/** Serves the face of an executor in this process and connects to it. Disposing closes the face. */
export async function connectFace(
  executor: McpProxyExecutor,
  { era, capabilities, prepare, ...faceOptions }: McpClientOptions & Partial<McpFaceOptions> = {},
) {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const written: object[] = [];
  const send = ours.send.bind(ours);
  ours.send = (message, sendOptions) => {
    written.push(message);
    return send(message, sendOptions);
  };
  const face = serveMcpFace(executor, { version: '1.2.3', transport: ours, ...faceOptions });
  const connected = await connectMcpClient(theirs, {
    ...(era && { era }),
    ...(capabilities && { capabilities }),
    ...(prepare && { prepare }),
  });
  return {
    ...connected,
    face,
    /** Every message that the face has sent. */
    written,
    [Symbol.asyncDispose]: () => face.close(),
  };
}

/** Counts the changes of the tool list that the client is told of from now on. */
export async function watchListChanges(client: Client): Promise<{ reached(count: number): Promise<void> }> {
  let changes = 0;
  const waiting: (() => void)[] = [];
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    changes++;
    for (const wake of waiting.splice(0)) wake();
  });
  if (client.getProtocolEra() === 'modern') await client.listen({ toolsListChanged: true });
  return {
    /** Resolves when there were that many changes. */
    async reached(count) {
      while (changes < count) await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
}
