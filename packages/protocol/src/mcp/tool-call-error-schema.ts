import { z } from 'zod';
import { type ToolErrorCode, toolErrorCodes } from './tool-error-codes.ts';

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
/**
 * A failed tool call. `may_have_run` tells whether the tool could have had an effect. A code that this version does not know reads as
 * `unknown`.
 */
export type ToolCallError = z.infer<typeof toolCallErrorSchema>;
