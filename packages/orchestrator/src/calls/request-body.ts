import {
  type CallRequest,
  type McpRequest,
  mcpRequestSchema,
  openOps,
  operatorOps,
  type ToolCallError,
  toolCallError,
} from '@signalbox/protocol';

const ops = [...openOps, ...operatorOps].join(', ');

/** Reads the body of an `mcp_request`; a refusal names the field and the rule. */
export function parseRequest(
  json: unknown,
): { request: McpRequest; refusal?: undefined } | { request?: undefined; refusal: ToolCallError } {
  if (isPlainCall(json)) return { request: json };
  const parsed = mcpRequestSchema.safeParse(json);
  if (parsed.success) return { request: parsed.data };
  const issue = parsed.error.issues[0]!;
  const field = issue.path.join('.') || 'body';
  const rule = field === 'op' ? `must be one of ${ops}` : issue.message;
  return { refusal: toolCallError('invalid_arguments', `field '${field}': ${rule}`, { mayHaveRun: false }) };
}

const callFields = new Set(['op', 'tool', 'arguments', 'options', 'round']);
const optionFields = new Set(['timeout_ms', 'progress']);
const roundFields = new Set(['client_capabilities']);
const maxToolName = 256;
const maxCapabilities = 16;

/** Whether it is a call as workers write nearly all of them, which passes the schema as it is: said faster than by the schema. */
function isPlainCall(json: unknown): json is CallRequest {
  if (!isRecord(json) || !hasOnly(json, callFields)) return false;
  const { op, tool, options, round } = json;
  const isNamed = typeof tool === 'string' && tool.length > 0 && tool.length <= maxToolName;
  return op === 'call' && isNamed && isPlainOptions(options) && isFirstRound(round);
}

function isPlainOptions(options: unknown): boolean {
  if (options === undefined) return true;
  if (!isRecord(options) || !hasOnly(options, optionFields)) return false;
  const { timeout_ms, progress } = options;
  const isTimed =
    timeout_ms === undefined || (Number.isSafeInteger(timeout_ms) && (timeout_ms as number) > 0);
  return isTimed && (progress === undefined || typeof progress === 'boolean');
}

/** Small as the capabilities of clients are; the schema has the last word on others. */
function isFirstRound(round: unknown): boolean {
  if (round === undefined) return true;
  if (!isRecord(round) || !hasOnly(round, roundFields)) return false;
  const { client_capabilities: capabilities = {} } = round;
  return isRecord(capabilities) && Object.keys(capabilities).length <= maxCapabilities;
}

function hasOnly(record: object, fields: ReadonlySet<string>): boolean {
  for (const key in record) if (!fields.has(key)) return false;
  return true;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
