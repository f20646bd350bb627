import type { ToolCallError } from './tool-call-error-schema.ts';
import { type ToolErrorCode, toolErrorCodes } from './tool-error-codes.ts';

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
