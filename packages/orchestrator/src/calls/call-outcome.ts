import type { ToolCallResult } from '@signalbox/mcp-host/tool-calls';
import {
  type CallRecordOutcome,
  type CallRequest,
  isInputRequired,
  type McpReply,
  type McpResult,
  type ToolCallError,
  toolCallError,
} from '@signalbox/protocol';
import type { CalledOff } from './tracked-call.ts';

/** Returns the reply that tells a requester how its call ended. */
export function replyOf(ended: ToolCallResult, { tool, round }: CallRequest): McpReply {
  if ('error' in ended) return { error: ended.error };
  const { result } = ended;
  if (!isInputRequired(result)) return { result: withContent(result) };
  if (round) return { input_required: { ...result, resultType: 'input_required' } };
  const message = `'${tool}' asks its caller for input, which this caller cannot give`;
  return {
    error: toolCallError('internal', message, {
      mayHaveRun: true,
      hint: 'Call it from an MCP client that can be asked, through the MCP face of a worker.',
    }),
  };
}

/** Adds the `content` that MCP demands of a result. If the server left it out, it is empty. */
function withContent(result: Record<string, unknown>): McpResult {
  return (Array.isArray(result.content) ? result : { ...result, content: [] }) as McpResult;
}

/**
 * Returns the outcome of a reply as call records show it: the code of its error, `input_required`, `tool_error` if the tool itself reports
 * an error, or else `ok`.
 */
export function outcomeOf(reply: McpReply): CallRecordOutcome {
  if ('error' in reply) return reply.error.code;
  if ('input_required' in reply) return 'input_required';
  return 'result' in reply && reply.result.isError === true ? 'tool_error' : 'ok';
}

/**
 * Returns the error for a call that another process started and did not finish, and whose tool is not safe to repeat.
 */
export function outcomeUnknown(requestId: string): ToolCallError {
  return toolCallError(
    'outcome_unknown',
    `the orchestrator ended while it ran the call of request ${requestId}; nobody knows whether the tool took effect`,
    {
      mayHaveRun: true,
      hint: 'Check what the tool changed before you call it again.',
    },
  );
}

/** Returns the error for a call that has ended, and whose reply is no longer kept. */
export function replyNotKept(requestId: string): ToolCallError {
  return toolCallError(
    'outcome_unknown',
    `the call of request ${requestId} has ended, and its reply is no longer kept`,
    {
      mayHaveRun: true,
      hint: 'Check what the tool changed before you call it again; the status of the request shows how it ended.',
    },
  );
}

/** Returns the error for a call whose request is over, and whose end is recorded nowhere. */
export function endedUnanswered(): ToolCallError {
  const message = 'the deadline of the call passed before it ended';
  return toolCallError('tool_timeout', message, { mayHaveRun: true });
}

/** Returns the error for a call that an operator cancelled. */
export function calledOffError(tool: string, { by, reason }: CalledOff, mayHaveRun: boolean): ToolCallError {
  const why = reason === undefined ? '' : `: ${reason}`;
  return toolCallError('cancelled', `${by.agent} cancelled this call of '${tool}'${why}`, {
    mayHaveRun,
    hint: mayHaveRun
      ? 'Check what the tool changed, and ask the person before you call it again.'
      : 'The call was not made. Do not seek another way to the same effect: ask the person.',
  });
}
