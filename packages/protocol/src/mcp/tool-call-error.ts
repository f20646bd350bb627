import { z } from 'zod';

/** The codes of failed tool calls. `retryable` tells whether the same call may succeed later. */
export const toolErrorCodes = {
  tool_not_found: {
    category: 'permanent',
    retryable: false,
    meaning: 'No tool has this name; `hint` names the most similar one.',
  },
  tool_timeout: { category: 'transient', retryable: true, meaning: 'The tool did not answer in time.' },
  tool_panicked: {
    category: 'permanent',
    retryable: false,
    meaning: 'An unexpected error ended the call in the orchestrator.',
  },
  invalid_arguments: {
    category: 'validation',
    retryable: false,
    meaning: 'The request or the arguments do not fit their schema; `message` names the field.',
  },
  permission_denied: {
    category: 'auth',
    retryable: false,
    meaning: 'The role may not call this tool, or not ask for this `op`.',
  },
  quota_exceeded: {
    category: 'transient',
    retryable: true,
    meaning: 'A queue, a rate or a budget is used up; `retry_after_seconds` tells when to try again.',
  },
  storage_full: {
    category: 'transient',
    retryable: true,
    meaning: 'The broker’s store or a disk is full, so that the call was not made.',
  },
  network_blocked: {
    category: 'permanent',
    retryable: false,
    meaning: 'The tool may not reach this address.',
  },
  mcp_server_unreachable: {
    category: 'transient',
    retryable: true,
    meaning: 'The server of the tool is not up.',
  },
  outcome_unknown: {
    category: 'permanent',
    retryable: false,
    meaning: 'The call was sent and its end is not known; it is not made again.',
  },
  cancelled: { category: 'permanent', retryable: false, meaning: 'The caller called it off.' },
  result_too_large: {
    category: 'permanent',
    retryable: false,
    meaning: 'The result exceeds the size or the depth of a reply.',
  },
  manifest_moved: {
    category: 'transient',
    retryable: true,
    meaning: 'The list has changed since its first page was read; read it again from the start.',
  },
  internal: {
    category: 'permanent',
    retryable: false,
    meaning: 'The orchestrator could not make the call or pass on its result.',
  },
  unknown: {
    category: 'permanent',
    retryable: false,
    meaning: 'The reader does not know the code that it was sent.',
  },
} as const;

/** A code of a failed tool call. */
export type ToolErrorCode = keyof typeof toolErrorCodes;

const codes = Object.keys(toolErrorCodes) as [ToolErrorCode, ...ToolErrorCode[]];

/** Accepts a failed tool call, also with a code or category that this version does not know. */
export const toolCallErrorSchema = z.object({
  code: z.enum(codes).catch('unknown'),
  message: z.string(),
  category: z.enum(['permanent', 'transient', 'validation', 'auth']).catch('permanent'),
  retryable: z.boolean(),
  may_have_run: z.boolean(),
  retry_after_seconds: z.number().optional(),
  hint: z.string().optional(),
  cause_chain: z.array(z.string()).optional(),
  rpc_error: z
    .object({ code: z.int(), message: z.string(), data: z.unknown().optional() })
    .optional()
    .describe('The JSON-RPC error that the MCP server answered, without secrets and of bounded size.'),
});
/** A failed tool call. `may_have_run` tells whether the tool could have had an effect. A code that this version does not know reads as `unknown`. */
export type ToolCallError = z.infer<typeof toolCallErrorSchema>;

/** Makes an error whose category follows its code, and `retryable` too unless given. Options that are not given are left out. */
export function toolCallError(
  code: ToolErrorCode,
  message: string,
  options: {
    mayHaveRun: boolean;
    retryable?: boolean;
    hint?: string;
    retryAfterSeconds?: number;
    causeChain?: string[];
    rpcError?: ToolCallError['rpc_error'];
  },
): ToolCallError {
  const { category, retryable } = toolErrorCodes[code];
  return {
    code,
    message,
    category,
    retryable: options.retryable ?? retryable,
    may_have_run: options.mayHaveRun,
    ...(options.retryAfterSeconds !== undefined && { retry_after_seconds: options.retryAfterSeconds }),
    ...(options.hint && { hint: options.hint }),
    ...(options.causeChain?.length && { cause_chain: options.causeChain }),
    ...(options.rpcError && { rpc_error: options.rpcError }),
  };
}
