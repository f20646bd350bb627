import {
  type McpRequest,
  mcpRequestSchema,
  openOps,
  operatorOps,
  type ToolCallError,
  toolCallError,
} from '@signalbox/protocol';

const ops = [...openOps, ...operatorOps].join(', ');

/** Reads the body of an `mcp_request`. A refusal names the field that is wrong, and the rule. */
export function parseRequest(
  json: unknown,
): { request: McpRequest; refusal?: undefined } | { request?: undefined; refusal: ToolCallError } {
  const parsed = mcpRequestSchema.safeParse(json);
  if (parsed.success) return { request: parsed.data };
  const issue = parsed.error.issues[0]!;
  const field = issue.path.join('.') || 'body';
  const rule = field === 'op' ? `must be one of ${ops}` : issue.message;
  return { refusal: toolCallError('invalid_arguments', `field '${field}': ${rule}`, { mayHaveRun: false }) };
}
