import type { RequestOutcome } from '@signalbox/client';
import { toolErrorCodeOf } from '@signalbox/client/internal';
import {
  type InputRequired,
  type McpResult,
  mayRepeat,
  mcpReplySchema,
  type ProxiedResult,
  type SignalboxError,
  type Tool,
  type ToolCallError,
  type ToolErrorCode,
  toolCallError,
  withDataAsText,
} from '@signalbox/protocol';

/**
 * The end of a request to the orchestrator: its result, or an error whose `may_have_run` is reliable. The result of a tool call is the
 * whole MCP result, with `success` and `text` added.
 */
export type CallResult<Result = ProxiedResult> =
  | { result: Result; error?: undefined }
  | { error: ToolCallError; result?: undefined };

/** The end of one round of a tool call. A result that asks the caller for input (MCP 2026-07-28) is followed by another round. */
export type RoundResult = CallResult<McpResult | InputRequired>;

/** Turns the outcome of a call's request into its result or error. */
export function callResultOf(outcome: RequestOutcome, tool: Tool): RoundResult {
  switch (outcome.status) {
    case 'completed':
      return readReply(outcome.reply.json);
    case 'not_sent':
    case 'rejected':
      return { error: refusalOf(outcome.error) };
    case 'cancelled':
      return { error: toolCallError('cancelled', 'the call was cancelled', outcome) };
    case 'timed_out':
      return { error: failureOrUnknown('tool_timeout', 'no result came before the deadline', outcome, tool) };
    case 'undeliverable':
      return {
        error: failureOrUnknown(
          outcome.reason === 'expired' ? 'tool_timeout' : 'mcp_server_unreachable',
          `the broker could not hand the call to the orchestrator (${outcome.reason})`,
          outcome,
          tool,
        ),
      };
    case 'connection_lost':
      return {
        error: failureOrUnknown(
          'mcp_server_unreachable',
          `the connection to the broker was lost${outcome.error === undefined ? '' : `: ${outcome.error.message}`}`,
          outcome,
          tool,
        ),
      };
  }
}

/** Returns an error with `code` if repeating the call can do no harm, and otherwise `outcome_unknown`: the tool may have had its effect. */
function failureOrUnknown(
  code: ToolErrorCode,
  message: string,
  { mayHaveRun }: { mayHaveRun: boolean },
  tool: Tool,
): ToolCallError {
  if (mayRepeat(tool, mayHaveRun)) {
    const hint = mayHaveRun ? 'It may have run, and it is safe to repeat.' : 'The call was not made.';
    return toolCallError(code, message, { mayHaveRun, hint });
  }
  return toolCallError('outcome_unknown', `${message}; '${tool.name}' may have run`, {
    mayHaveRun,
    hint: 'Find out whether it took effect before you call it again.',
  });
}

/** Reads the reply to a call. */
export function readReply(json: unknown): RoundResult {
  const parsed = mcpReplySchema.safeParse(json);
  if (parsed.success && 'error' in parsed.data) return { error: parsed.data.error };
  // Results are passed on as they came, with fields that the schema does not know.
  if (parsed.success && 'result' in parsed.data)
    return { result: withDataAsText((json as { result: McpResult }).result) };
  if (parsed.success && 'input_required' in parsed.data) {
    return { result: (json as { input_required: InputRequired }).input_required };
  }
  const message = 'the reply of the orchestrator is neither a result nor an error';
  return { error: toolCallError('internal', message, { mayHaveRun: true }) };
}

/** Returns the error of a request that did not reach the orchestrator: nothing has run. */
function refusalOf(error: SignalboxError): ToolCallError {
  const { retryAfterMs } = error.details;
  return toolCallError(toolErrorCodeOf(error), error.message, {
    mayHaveRun: false,
    retryable: error.retryable,
    causeChain: [error.code],
    ...(typeof retryAfterMs === 'number' && { retryAfterSeconds: Math.ceil(retryAfterMs / 1000) }),
  });
}
