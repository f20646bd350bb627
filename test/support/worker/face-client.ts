import { Client, type StandardSchemaV1 } from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import type { Tool } from '@signalbox/protocol';
import { type McpFaceOptions, type McpProxyExecutor, serveMcpFace } from '@signalbox/worker';

/** Takes what came as it is: the SDK's own schemas drop fields that they do not know. */
const untouched = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
} as StandardSchemaV1<unknown, Record<string, unknown>>;

export type Era = 'legacy' | 'modern';

/** An SDK client of one era on the face of an executor, in one process. */
export async function connectFace(
  executor: McpProxyExecutor,
  era: Era = 'legacy',
  options: Partial<McpFaceOptions> = {},
) {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const face = serveMcpFace(executor, { version: '1.2.3', transport: ours, ...options });
  const mode = era === 'modern' ? ('auto' as const) : ('legacy' as const);
  const client = new Client({ name: 'agent', version: '1.0.0' }, { versionNegotiation: { mode } });
  let listChanges = 0;
  const waiting: (() => void)[] = [];
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    listChanges++;
    for (const wake of waiting.splice(0)) wake();
  });
  await client.connect(theirs);
  if (era === 'modern') await client.listen({ toolsListChanged: true });
  return {
    client,
    /** Resolves when the face has told of that many changes of the list. */
    async listChanged(count: number): Promise<void> {
      while (listChanges < count) await new Promise<void>((resolve) => waiting.push(resolve));
    },
    async list(): Promise<Tool[]> {
      const { tools } = await client.request({ method: 'tools/list', params: {} }, untouched);
      return tools as Tool[];
    },
    call: (name: string, args: unknown = {}, callOptions: Parameters<Client['request']>[2] = {}) =>
      client.request(
        { method: 'tools/call', params: { name, arguments: args as Record<string, unknown> } },
        untouched,
        callOptions,
      ),
    [Symbol.asyncDispose]: () => face.close(),
  };
}
