import { z } from 'zod';

/** The closed vocabulary of tool failures. `retryable`: the same call may succeed later. */
export const toolErrorCodes = {
  tool_not_found: { category: 'permanent', retryable: false },
  tool_timeout: { category: 'transient', retryable: true },
  tool_panicked: { category: 'permanent', retryable: false },
  invalid_arguments: { category: 'validation', retryable: false },
  permission_denied: { category: 'auth', retryable: false },
  quota_exceeded: { category: 'transient', retryable: true },
  network_blocked: { category: 'permanent', retryable: false },
  mcp_server_unreachable: { category: 'transient', retryable: true },
  outcome_unknown: { category: 'permanent', retryable: false },
  cancelled: { category: 'permanent', retryable: false },
  result_too_large: { category: 'permanent', retryable: false },
  internal: { category: 'permanent', retryable: false },
  unknown: { category: 'permanent', retryable: false },
} as const;

export type ToolErrorCode = keyof typeof toolErrorCodes;

const codes = Object.keys(toolErrorCodes) as [ToolErrorCode, ...ToolErrorCode[]];

/** A failed tool call. `may_have_run` says whether the tool could have had an effect. A code this version does not know reads as `unknown`. */
export const toolCallErrorSchema = z.object({
  code: z.enum(codes).catch('unknown'),
  message: z.string(),
  category: z.enum(['permanent', 'transient', 'validation', 'auth']).catch('permanent'),
  retryable: z.boolean(),
  may_have_run: z.boolean(),
  retry_after_seconds: z.number().optional(),
  hint: z.string().optional(),
  cause_chain: z.array(z.string()).optional(),
  /** The JSON-RPC error with which the MCP server answered, free of secrets and of bounded size. */
  rpc_error: z.object({ code: z.int(), message: z.string(), data: z.unknown().optional() }).optional(),
});
export type ToolCallError = z.infer<typeof toolCallErrorSchema>;

/** Builds an error whose category and retryability follow the table. Optionals that are not given are omitted. */
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
