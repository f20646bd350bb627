import { z } from 'zod';
import { mcpReplySchema } from './mcp-reply.ts';
import { type ToolErrorCode, toolErrorCodes } from './tool-error-codes.ts';

const outcomeSchema = z.union([
  z.enum(['ok', 'tool_error', 'input_required']),
  z.enum(Object.keys(toolErrorCodes) as [ToolErrorCode, ...ToolErrorCode[]]),
]);

/** Accepts the answer to op `status`. */
export const callStatusSchema = z.discriminatedUnion('state', [
  z.object({ state: z.enum(['queued', 'running', 'unknown']) }),
  z.object({
    state: z.literal('awaiting_approval'),
    approval: z.string().describe('The id of the approval that it waits for.'),
  }),
  z.object({
    state: z.literal('held'),
    hold: z.string().describe('Who holds the agent, its role or the tool, since when and why.'),
  }),
  z.object({ state: z.literal('finished'), outcome: outcomeSchema, reply: mcpReplySchema.optional() }),
]);
/**
 * The answer to op `status`, in `data`: the state of the asker's own request. `unknown` means never received, or forgotten.
 * A `finished` call comes without its reply once that was delivered and is no longer kept.
 */
export type CallStatus = z.infer<typeof callStatusSchema>;

const taskFields = {
  tool: z.string(),
  round: z.int().describe('The number of the newest round: 0 for the call itself.'),
  created_at: z.number(),
  updated_at: z.number(),
  ttl_ms: z
    .int()
    .describe('How long after `created_at` the task is there at least, if nothing pushes it out.'),
};

/** Accepts the answer to op `task`. */
export const taskStateSchema = z.discriminatedUnion('state', [
  z.object({ state: z.literal('unknown') }),
  z.object({
    state: z.literal('working'),
    ...taskFields,
    message: z.string().optional().describe('Says what it waits for, or how far it is.'),
  }),
  z.object({
    state: z.literal('input_required'),
    ...taskFields,
    input_requests: z
      .record(z.string(), z.unknown())
      .describe('What the tool asks and has no answer to. No name is used twice in one task.'),
  }),
  z.object({ state: z.literal('finished'), ...taskFields, outcome: outcomeSchema, reply: mcpReplySchema }),
]);
/**
 * The answer to op `task`, in `data`. `unknown` means that the asker has no task with this id: it never existed, its time is over, or its
 * result is no longer kept. Times are epoch milliseconds of the orchestrator's clock.
 */
export type TaskState = z.infer<typeof taskStateSchema>;

/** Accepts one call of the answer to op `calls` or `own_calls`. */
export const callRecordSchema = z.object({
  request_id: z.string(),
  agent: z.string(),
  role: z.string(),
  tool: z.string(),
  thread: z.string().optional().describe('The thread of its request. Absent: one of its own, with its id.'),
  server: z.string().optional(),
  state: z.enum(['queued', 'held', 'awaiting_approval', 'running', 'finished']),
  approval: z.string().optional().describe('The id of the approval that it waits for, or waited for.'),
  hold: z.string().optional().describe('Of a call that is held: who holds it, since when and why.'),
  was_held: z
    .object({ hold: z.string().describe('Who held it last, since when and why.'), ms: z.number() })
    .optional()
    .describe('Of a call that is held no more: how long it was.'),
  position: z
    .int()
    .optional()
    .describe('Of a call that waits for its turn: its place in the line of its server, 1 for the next.'),
  progress: z
    .object({ progress: z.number(), total: z.number().optional() })
    .optional()
    .describe('What the tool told last of its progress, if its caller asked for that.'),
  received_at: z.number(),
  started_at: z.number().optional(),
  finished_at: z.number().optional(),
  request_bytes: z.int().optional().describe('The length of its request. Absent if that is not remembered.'),
  reply_bytes: z.int().optional().describe('The length of its reply. Absent if that is not remembered.'),
  outcome: outcomeSchema.optional(),
  reply_kept: z
    .boolean()
    .optional()
    .describe('Tells of a finished call whether `status` still returns its reply.'),
});
/** One tool call as op `calls` or `own_calls` lists it. Times are epoch milliseconds of the orchestrator's clock. */
export type CallRecord = z.infer<typeof callRecordSchema>;
/** The most budgets in an answer to op `calls`. */
export const maxBudgetUses = 1000;

const budgetUseSchema = z.object({
  agent: z
    .string()
    .optional()
    .describe('The worker. Absent for the budget that the workers of a role share.'),
  role: z.string(),
  used: z.int().describe('The calls that count against it now.'),
  calls: z.int().describe('The most calls in any period of `window_ms`.'),
  window_ms: z.number(),
  wait_ms: z.number().describe('The time until a call is allowed; 0 if one is allowed now.'),
});
/** The use of a budget. */
export type BudgetUse = z.infer<typeof budgetUseSchema>;

/** Accepts the answer to op `calls` or `own_calls`. */
export const callsReplySchema = z.object({
  calls: z.array(callRecordSchema),
  known_since: z
    .number()
    .describe(
      'Of the calls that came before this time, those are missing that ended, if they are safe to repeat or were refused.',
    ),
  budgets: z
    .array(budgetUseSchema)
    .optional()
    .describe(
      'With `running`, to op `calls`: the budgets of which something is used, those with the least left first.',
    ),
});
/**
 * The end of a call: `ok`, `tool_error` if the tool set `isError`, `input_required` if the tool asked for input, which ends this round,
 * or an error code.
 */
export type CallRecordOutcome = z.infer<typeof outcomeSchema>;

/** Accepts the answer to op `cancel_call`. */
export const cancelCallReplySchema = z.object({
  cancelled: z.boolean().describe('False if the call had ended before, so that this changed nothing.'),
  state: callRecordSchema.shape.state.describe('The state of the call before.'),
  outcome: outcomeSchema.optional().describe('How the call ended. Absent if it has not ended 5 s later.'),
  may_have_run: z.boolean().describe('Whether the tool may have taken effect.'),
});
/** The answer to op `cancel_call`, in `data`. */
export type CancelCallReply = z.infer<typeof cancelCallReplySchema>;
