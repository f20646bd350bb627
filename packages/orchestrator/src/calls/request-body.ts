import {
  type McpRequest,
  mcpRequestParser,
  messageOf,
  openOps,
  operationPermissions,
  parseJson,
  repeatedName,
  repeatedNameText,
  type ToolCallError,
  toolCallError,
} from '@signalbox/protocol';

const parse = mcpRequestParser();

const ops = [...openOps, ...Object.keys(operationPermissions.request)].join(', ');

/** The body of an `mcp_request`, or the reason why it is refused. */
export type ReadRequest =
  | { request: McpRequest; refusal?: undefined }
  | { request?: undefined; refusal: ToolCallError };

/** Reads the body of an `mcp_request`. A refusal names the exceeded bound, or the wrong field and the rule. */
export function readRequest(body: string | undefined): ReadRequest {
  try {
    const json = body === undefined ? undefined : parseJson(body);
    // Most clients write JSON as `JSON.stringify` does.
    const twice = body === undefined || JSON.stringify(json) === body ? undefined : repeatedName(body);
    if (twice === undefined) return parseRequest(json);
    const message = `the body ${repeatedNameText(twice)}`;
    return { refusal: toolCallError('invalid_arguments', message, { mayHaveRun: false }) };
  } catch (thrown) {
    return { refusal: toolCallError('invalid_arguments', messageOf(thrown), { mayHaveRun: false }) };
  }
}

/** Reads an `mcp_request` from the JSON of its body. */
export function parseRequest(json: unknown): ReadRequest {
  const parsed = parse(json);
  if (parsed.success) return { request: parsed.data };
  const issue = parsed.error.issues[0]!;
  const field = issue.path.join('.') || 'body';
  const rule = field === 'op' ? `must be one of ${ops}` : issue.message;
  return { refusal: toolCallError('invalid_arguments', `field '${field}': ${rule}`, { mayHaveRun: false }) };
}
