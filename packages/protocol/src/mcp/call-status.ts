import { z } from 'zod';
import { mcpReplySchema } from './mcp-reply.ts';
import { type ToolErrorCode, toolErrorCodes } from './tool-call-error.ts';

/** How a call ended: `ok`, `tool_error` (the tool itself said isError), `input_required` (the tool asked back, which ends this round), or an error code. */
const outcomeSchema = z.union([
  z.enum(['ok', 'tool_error', 'input_required']),
  z.enum(Object.keys(toolErrorCodes) as [ToolErrorCode, ...ToolErrorCode[]]),
]);

/**
 * Answer to op `status` (in `data`): what became of one's own request. `unknown`: never heard of, or forgotten.
 * `finished` comes without its reply once that was delivered and is no longer kept; `outcome` is as in {@link callRecordSchema}.
 */
export const callStatusSchema = z.discriminatedUnion('state', [
  z.object({ state: z.enum(['queued', 'running', 'unknown']) }),
  z.object({ state: z.literal('finished'), outcome: outcomeSchema, reply: mcpReplySchema.optional() }),
]);
export type CallStatus = z.infer<typeof callStatusSchema>;

/** One tool call as op `calls` lists it. Times are epoch milliseconds of the orchestrator's clock. */
export const callRecordSchema = z.object({
  request_id: z.string(),
  agent: z.string(),
  role: z.string(),
  tool: z.string(),
  server: z.string().optional(),
  state: z.enum(['queued', 'running', 'finished']),
  received_at: z.number(),
  started_at: z.number().optional(),
  finished_at: z.number().optional(),
  outcome: outcomeSchema.optional(),
});
export type CallRecord = z.infer<typeof callRecordSchema>;
export type CallRecordOutcome = z.infer<typeof outcomeSchema>;
