import {
  type CallRecordOutcome,
  type McpReply,
  type ToolCallError,
  toolCallError,
} from '@signalbox/protocol';

/** A reply in one word: `ok`, `tool_error` or `input_required` where the tool itself says so, or the code of the error. */
export function outcomeOf(reply: McpReply): CallRecordOutcome {
  if ('error' in reply) return reply.error.code;
  if ('input_required' in reply) return 'input_required';
  return 'result' in reply && !reply.result.success ? 'tool_error' : 'ok';
}

/** For a call that somebody started who is gone, and whose tool is not safe to repeat. */
export function outcomeUnknown(requestId: string): ToolCallError {
  return toolCallError(
    'outcome_unknown',
    `the orchestrator ended while it ran the call of request ${requestId}; nobody knows whether the tool took effect`,
    {
      mayHaveRun: true,
      hint: 'Check what the tool changed before you call it again; the status of the request shows what is recorded.',
    },
  );
}
