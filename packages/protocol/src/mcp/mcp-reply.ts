import { z } from 'zod';
import { manifestSchema } from './tool.ts';
import { toolCallErrorSchema } from './tool-call-error.ts';

/**
 * The whole MCP result of a call, plus `success` (not `isError`) and `text` (its text blocks joined by newlines)
 * for callers that want a string.
 */
export const proxiedResultSchema = z.looseObject({
  success: z.boolean(),
  text: z.string(),
  content: z.array(z.looseObject({ type: z.string() })),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
});
export type ProxiedResult = z.infer<typeof proxiedResultSchema>;

/** The tool asks its caller for input (MCP 2026-07-28): its result as the MCP server gave it. Only for calls with a `round`. */
const inputRequiredSchema = z.looseObject({ resultType: z.literal('input_required') });
export type InputRequired = z.infer<typeof inputRequiredSchema>;

/** Body of an `mcp_reply` message: exactly one of its fields. */
export const mcpReplySchema = z.union([
  z.object({ manifest: manifestSchema }),
  z.object({ result: proxiedResultSchema }),
  z.object({ input_required: inputRequiredSchema }),
  z.object({ error: toolCallErrorSchema }),
  z.object({ data: z.unknown() }),
]);
export type McpReply =
  | { manifest: z.infer<typeof manifestSchema> }
  | { result: ProxiedResult }
  | { input_required: InputRequired }
  | { error: z.infer<typeof toolCallErrorSchema> }
  | { data: unknown };

/** Adds `success` and `text` to a result as the MCP server gave it; every other field stays as it is. */
export function toProxiedResult(result: Record<string, unknown>): ProxiedResult {
  const content = Array.isArray(result.content) ? (result.content as ProxiedResult['content']) : [];
  const text = content
    .filter((block) => block.type === 'text' && typeof block.text === 'string')
    .map((block) => block.text as string)
    .join('\n');
  return { ...result, content, success: result.isError !== true, text };
}
