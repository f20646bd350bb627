import { z } from 'zod';
import { manifestSchema } from './tool.ts';
import { toolCallErrorSchema } from './tool-call-error-schema.ts';

/** Accepts the MCP result of a call. */
export const mcpResultSchema = z.looseObject({
  content: z.array(z.looseObject({ type: z.string() })),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
});
/** The whole MCP result of a call, as its server gave it. */
export type McpResult = z.infer<typeof mcpResultSchema>;

/**
 * The MCP result of a call, with two fields added for callers that want a string: `success` is the opposite of `isError`, and `text`
 * joins the text blocks by newlines.
 */
export type ProxiedResult = McpResult & { success: boolean; text: string };

const inputRequiredSchema = z.looseObject({ resultType: z.literal('input_required') });
/** The result of a tool that asks its caller for input (MCP 2026-07-28), as its server gave it. Only calls with a `round` get one. */
export type InputRequired = z.infer<typeof inputRequiredSchema>;

/** Tells whether a result asks its caller for input instead of ending the call. The caller then calls again, with the answers. */
export function isInputRequired<Result extends Record<string, unknown>>(
  result: Result | InputRequired,
): result is InputRequired {
  return result.resultType === 'input_required';
}

const keptAnswerSchema = z.object({
  uri: z
    .string()
    .describe('Read from its beginning, it is a JSON object whose `answer` is that of the server.'),
  bytes: z.int().nonnegative().describe('The length of that JSON.'),
});
/** Stands for the answer to a read of a resource that is longer than a message. It is kept for its reader for some minutes. */
export type KeptAnswer = z.infer<typeof keptAnswerSchema>;

/** Accepts the body of an `mcp_reply` message. */
export const mcpReplySchema = z.union([
  z.object({ manifest: manifestSchema }),
  z.object({ result: mcpResultSchema }),
  z.object({ input_required: inputRequiredSchema }),
  z.object({ error: toolCallErrorSchema }),
  z.object({ kept: keptAnswerSchema }),
  z.object({ data: z.unknown() }),
]);
/** The body of an `mcp_reply` message, which has exactly one field. */
export type McpReply = z.infer<typeof mcpReplySchema>;

/**
 * Returns a result that has data and no content with its data as a text, as MCP advises servers: many clients show a model only the content.
 * Any other result is the same object.
 */
export function withDataAsText(result: McpResult): McpResult {
  const { content, structuredContent: data } = result;
  if (content.length > 0 || data === undefined) return result;
  return { ...result, content: [{ type: 'text', text: JSON.stringify(data) }] };
}

/** Adds `success` and `text` to a result. Every other field stays as it is. */
export function toProxiedResult(result: McpResult): ProxiedResult {
  const text = result.content
    .filter((block) => block.type === 'text' && typeof block.text === 'string')
    .map((block) => block.text as string)
    .join('\n');
  return { ...result, success: result.isError !== true, text };
}
