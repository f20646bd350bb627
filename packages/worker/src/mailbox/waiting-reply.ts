import { requestAddress } from '@signalbox/client';
import {
  bodyLimitsFor,
  type McpReply,
  mcpReplySchema,
  parseJson,
  type WelcomeFrame,
} from '@signalbox/protocol';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import { consumerOfKey } from '../shim/call-key.ts';

/** The most pages of an inbox that are read. */
const maxPages = 20;

/**
 * Looks for the reply to a call in the inbox of the shim that made it, which may have died before it read the reply. The broker keeps the
 * messages of that inbox for some minutes after its last holder left. Only shims name their inboxes in the ids of their calls. Rejects with
 * `SignalboxError` if the broker cannot be asked.
 */
export async function waitingReply(
  { client, agent, orchestrator }: Pick<McpProxyExecutor, 'client' | 'agent' | 'orchestrator'>,
  callId: string,
): Promise<McpReply | undefined> {
  const consumer = consumerOfKey(callId);
  if (consumer === undefined) return undefined;
  const address = requestAddress(agent, consumer);
  let after = 0;
  for (let page = 0; page < maxPages; page++) {
    const messages = await client.peek({ address, after });
    const reply = messages.find(
      ({ kind, correlation_id, from }) =>
        kind === 'mcp_reply' &&
        correlation_id === callId &&
        from.agent === orchestrator &&
        from.role === 'orchestrator',
    );
    if (reply) return readReply(reply.body, client.welcome);
    const last = messages.at(-1)?.seq;
    if (last === undefined) return undefined;
    after = last;
  }
  return undefined;
}

/** Returns the reply unchanged, with fields that the schema does not know. */
function readReply(body: string | undefined, { limits }: WelcomeFrame): McpReply | undefined {
  const json = body === undefined ? undefined : parseJson(body, bodyLimitsFor(limits.message?.bytes));
  return mcpReplySchema.safeParse(json).success ? (json as McpReply) : undefined;
}
