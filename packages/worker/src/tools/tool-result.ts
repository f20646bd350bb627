import type { Tool, ToolCallError } from '@signalbox/protocol';

/** The result of a tool, in MCP's form (`CallToolResult`). */
export interface ToolResult {
  content: { type: string; [field: string]: unknown }[];
  structuredContent?: unknown;
  isError?: boolean | undefined;
  _meta?: Record<string, unknown> | undefined;
  [field: string]: unknown;
}

/**
 * Makes a result of a failure that a model can act on. The error is in `_meta['signalbox/error']` and in `structuredContent.error`. A tool
 * with an output schema gets no `structuredContent`: clients check it against that schema, and would report a mismatch instead of the
 * failure. `callId` is in `_meta['signalbox/call_id']`.
 */
export function failedResultOf(
  error: ToolCallError,
  tool: Pick<Tool, 'outputSchema'> | undefined,
  callId?: string,
): ToolResult {
  return {
    content: [{ type: 'text', text: failureText(error) }],
    ...(!tool?.outputSchema && { structuredContent: { error } }),
    isError: true,
    _meta: { 'signalbox/error': error, ...(callId !== undefined && { 'signalbox/call_id': callId }) },
  };
}

/**
 * Makes the result of a call that still waits for a person's decision. Clients check results against the output schema of a tool, which
 * this one does not fit: it counts as an error only if the tool has an output schema.
 */
export function pendingResultOf(
  name: string,
  callId: string,
  approval: string,
  { tool, canLookUp }: { tool: Pick<Tool, 'outputSchema'> | undefined; canLookUp: boolean },
): ToolResult {
  const next = canLookUp
    ? `signalbox_call_result with call_id ${callId} gets the result when there is one. If it says that the call was cancelled, call again with the same arguments`
    : 'call again with the same arguments to go on waiting for it';
  const mark = tool?.outputSchema
    ? 'It is marked as an error because it is not the result that the tool describes'
    : 'This is no failure';
  const text = `'${name}' has not run yet: it waits for the decision of a person (approval ${approval}). ${mark}. Do other work meanwhile; ${next}.`;
  // Some clients show a model only the data.
  const pending = { status: 'pending', call_id: callId, approval, message: text };
  return {
    content: [{ type: 'text', text }],
    ...(tool?.outputSchema ? { isError: true } : { structuredContent: pending }),
    _meta: { 'signalbox/pending': pending, 'signalbox/call_id': callId },
  };
}

/** Returns the text for a model about a failed call: what happened, what to do, and whether to try again. */
export function failureText(error: ToolCallError): string {
  const { code, message, hint } = error;
  return [`${code}: ${sentence(message)}`, hint && sentence(hint), retryAdvice(error)]
    .filter(Boolean)
    .join(' ');
}

/** Ends a text with a full stop, unless it has an end. */
function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

function retryAdvice(error: ToolCallError): string | undefined {
  const { retryable, retry_after_seconds: seconds } = error;
  if (retryable && seconds !== undefined) return `You may try again in ${seconds} s.`;
  if (retryable) return 'You may try again.';
  if (error.may_have_run) return 'The call may have had an effect; do not simply repeat it.';
  return undefined;
}
