import { CLIENT_CAPABILITIES_META_KEY, type Server, type ServerContext } from '@modelcontextprotocol/server';
import type { CallRound } from '@signalbox/protocol';

/** Whether a call came on the 2026 revision, where every request says so itself. */
export function isModernCall({ mcpReq }: ServerContext): boolean {
  return mcpReq.envelope !== undefined;
}

/** What the client of a call can be asked for, and what it answers in a further round. */
export function roundOf(server: Server, context: ServerContext): CallRound {
  const { envelope, inputResponses, requestState } = context.mcpReq;
  const declared = envelope as Record<string, Record<string, unknown> | undefined> | undefined;
  const clientCapabilities = declared
    ? declared[CLIENT_CAPABILITIES_META_KEY]
    : server.getClientCapabilities();
  const state = requestState<unknown>();
  return {
    ...(clientCapabilities && { clientCapabilities: { ...clientCapabilities } }),
    ...(inputResponses && { inputResponses }),
    ...(typeof state === 'string' && { requestState: state }),
  };
}
