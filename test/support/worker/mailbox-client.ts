import { Client, type StandardSchemaV1 } from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import type { Tool } from '@signalbox/protocol';
import { type McpFaceOptions, type McpProxyExecutor, serveMcpFace } from '@signalbox/worker';

/** Takes what came as it is: the SDK's own schemas drop fields that they do not know. */
const untouched = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
} as StandardSchemaV1<unknown, Record<string, unknown>>;

/** A result as a client gets it. */
export interface DeskResult {
  isError: boolean;
  /** Its text blocks, joined. */
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it.
  data: any;
  meta: Record<string, unknown>;
}

/** An MCP client on the face of an executor, which uses the tools of its mailbox. */
export async function openDesk(executor: McpProxyExecutor, options: Partial<McpFaceOptions> = {}) {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const face = serveMcpFace(executor, { version: '1.2.3', transport: ours, ...options });
  const client = new Client({ name: 'agent', version: '1.0.0' });
  await client.connect(theirs);
  const list = async () => {
    const { tools } = await client.request({ method: 'tools/list', params: {} }, untouched);
    return tools as Tool[];
  };
  /** By the tool's name without `signalbox_`, unless it is a hosted one. */
  const use = async (
    tool: string,
    args: object = {},
    more: Parameters<Client['request']>[2] = {},
  ): Promise<DeskResult> => {
    const name = tool.startsWith('mcp_') ? tool : `signalbox_${tool}`;
    const result = await client.request(
      { method: 'tools/call', params: { name, arguments: args as Record<string, unknown> } },
      untouched,
      more,
    );
    const { content, structuredContent: data, isError, _meta } = result;
    const text = (content as { text: string }[]).map((block) => block.text).join('');
    return { isError: isError === true, text, data, meta: (_meta ?? {}) as Record<string, unknown> };
  };
  return { face, client, list, use, [Symbol.asyncDispose]: () => face.close() };
}
