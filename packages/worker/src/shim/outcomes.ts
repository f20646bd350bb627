import { toolCallError } from '@signalbox/protocol/tool-call-error';
import { failedResultOf } from '../tools/tool-result.ts';
import { callKey } from './call-key.ts';
import type { PendingRequest } from './pending-requests.ts';

/** JSON-RPC's code for a failure of the server; MCP has none for a server that is unreachable. */
const internalError = -32603;

/** The reason why a request ends without the answer of a face. */
export type EndReason = 'face_away' | 'too_many' | 'too_large' | 'stopping' | 'no_turn';

const reasons: Readonly<Record<EndReason, string>> = {
  face_away: 'the MCP face of this machine is away',
  too_many: 'too many requests wait for their answers',
  too_large: 'too much text waits for its answers',
  stopping: 'the MCP server is ending',
  no_turn: 'the turn of this agent has ended',
};

/** A call of a tool, as its result names it. */
export interface EndedCall {
  tool: string;
  /** True if clients know a schema for the tool's structured content, which a failure does not fit. */
  hasOutputSchema: boolean;
}

/** Writes the answer to a tool call that ends here. A call that a face had may have run. */
export function endedCall(
  { idText, n, sentTo }: Pick<PendingRequest, 'idText' | 'n' | 'sentTo'>,
  reason: EndReason,
  { consumer, tool, hasOutputSchema }: EndedCall & { consumer: string },
): string {
  const callId = callKey(consumer, n);
  const wasSent = sentTo > 0;
  const error = { ...errorOf(reason, { tool, callId, wasSent }), ...(wasSent && { call_id: callId }) };
  const schema = hasOutputSchema ? { outputSchema: {} } : undefined;
  const result = failedResultOf(error, schema, wasSent ? callId : undefined);
  return `{"jsonrpc":"2.0","id":${idText},"result":${JSON.stringify(result)}}`;
}

/** Writes the error for any other request that ends here. None of them changes anything. */
export function endedRequest(idText: string, reason: EndReason): string {
  const data = { code: 'unreachable', retryable: true, may_have_run: false };
  const error = { code: internalError, message: `${reasons[reason]}; try again`, data };
  return `{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify(error)}}`;
}

function errorOf(
  reason: EndReason,
  { tool, callId, wasSent }: { tool: string; callId: string; wasSent: boolean },
) {
  if (reason === 'stopping') return toolCallError('cancelled', reasons[reason], { mayHaveRun: wasSent });
  if (wasSent) {
    return toolCallError('outcome_unknown', `${reasons[reason]}, and '${tool}' may have run`, {
      mayHaveRun: true,
      hint: tool.startsWith('signalbox_')
        ? 'Look whether it took effect before you call it again.'
        : `signalbox_call_result with call_id ${callId} says what became of it.`,
    });
  }
  if (reason === 'no_turn')
    return toolCallError('no_turn', `${reasons[reason]}, and '${tool}' was not called`, {
      mayHaveRun: false,
    });
  const code = reason === 'face_away' ? 'mcp_server_unreachable' : 'quota_exceeded';
  return toolCallError(code, `${reasons[reason]}, and '${tool}' was not called`, {
    mayHaveRun: false,
    retryable: true,
  });
}
