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
import { type McpProxyExecutor, serveMcpFace } from '@signalbox/worker';

export type Era = 'legacy' | 'modern';
type Json = Record<string, unknown>;

/** An SDK client that takes what comes as it is: the SDK's own schemas drop fields that they do not know. */
export interface RawClient extends AsyncDisposable {
  readonly client: Client;
  list(): Promise<Json[]>;
  /** Also a result that asks for input; `more` are further parameters of the call. */
  call(name: string, args?: Json, more?: Json): Promise<Json>;
}

const untouched: StandardSchemaV1<unknown, Json> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value as Json }) },
};

export interface RawClientOptions {
  era?: Era;
  capabilities?: ClientCapabilities;
  /** Called before the client connects. */
  prepare?: (client: Client) => void;
}

export async function rawClient(transport: Transport, options: RawClientOptions = {}): Promise<RawClient> {
  const { era = 'legacy', capabilities = {}, prepare } = options;
  const client = new Client(
    { name: 'raw', version: '1.0.0' },
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
      return (await client.request({ method: 'tools/list', params: {} }, untouched)).tools as Json[];
    },
    call: (name, args = {}, more = {}) =>
      client.request({ method: 'tools/call', params: { name, arguments: args, ...more } }, untouched, {
        allowInputRequired: true,
      }),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** On the face of an executor, in one process. */
export async function clientOfFace(
  executor: McpProxyExecutor,
  options?: RawClientOptions,
): Promise<RawClient> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const face = serveMcpFace(executor, { version: '1.0.0', transport: ours });
  const connected = await rawClient(theirs, options);
  return { ...connected, [Symbol.asyncDispose]: () => face.close() };
}

export function clientOfProcess({ command, args = [] }: StdioServerConfig): Promise<RawClient> {
  return rawClient(new StdioClientTransport({ command, args, stderr: 'ignore' }));
}

export function clientOfUrl(url: string, options?: RawClientOptions): Promise<RawClient> {
  return rawClient(new StreamableHTTPClientTransport(new URL(url)), options);
}
