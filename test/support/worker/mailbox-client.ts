import type { BrokerOptions } from '@signalbox/broker';
import type { McpFaceOptions, McpProxyExecutor } from '@signalbox/worker';
import { startToolStack, type ToolStack } from '../orchestrator/tool-stack.ts';
import { connectFace } from './mcp-client.ts';

/** The result of a mailbox tool. */
export interface MailboxResult {
  isError: boolean;
  /** Its text blocks, joined. */
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it.
  data: any;
  meta: Record<string, unknown>;
}

export type MailboxClient = Awaited<ReturnType<typeof connectMailbox>>;

/** An MCP client on the face of an executor, which uses the tools of its mailbox. */
export async function connectMailbox(executor: McpProxyExecutor, options: Partial<McpFaceOptions> = {}) {
  const face = await connectFace(executor, options);
  /** Calls a tool by its name without `signalbox_`, unless it is a hosted one. */
  const use = async (
    tool: string,
    args: object = {},
    more: Parameters<typeof face.call>[2] = {},
  ): Promise<MailboxResult> => {
    const name = tool.startsWith('mcp_') ? tool : `signalbox_${tool}`;
    const { content, structuredContent: data, isError, _meta } = await face.call(name, args, more);
    const text = (content as { text: string }[]).map((block) => block.text).join('');
    return { isError: isError === true, text, data, meta: (_meta ?? {}) as Record<string, unknown> };
  };
  return { ...face, use };
}

/** A broker, and an orchestrator that hosts no servers: agents that only write to each other. */
export interface MailboxStack extends ToolStack {
  /** The mailbox of an agent, on a face of its own. */
  mailbox(agent: string, role?: string, options?: Partial<McpFaceOptions>): Promise<MailboxClient>;
}

export async function startMailboxStack(broker: Partial<BrokerOptions> = {}): Promise<MailboxStack> {
  const stack = await startToolStack({ broker, counter: false });
  return {
    ...stack,
    mailbox: async (agent, role, options) => connectMailbox(await stack.executor(agent, role), options),
  };
}
