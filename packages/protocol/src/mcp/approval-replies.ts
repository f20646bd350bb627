import { z } from 'zod';

/** The states of an approval. Only one that is `pending` can still change, and it changes once. */
export const approvalStates = [
  'pending',
  'approved',
  'denied',
  'expired',
  'cancelled',
  'superseded',
] as const;

/** The state of an approval. */
export type ApprovalState = (typeof approvalStates)[number];

const deciderSchema = z
  .object({
    token_id: z.string(),
    agent: z.string(),
    standing: z.string().optional().describe('The standing approval by which it was decided.'),
  })
  .meta({ id: 'Decider', title: 'decider', description: 'The agent that decided on a tool call.' });

const approvalSchema = z
  .object({
    id: z.string(),
    state: z.enum(approvalStates),
    request_id: z.string(),
    agent: z.string(),
    role: z.string(),
    server: z.string().optional(),
    host: z
      .string()
      .optional()
      .describe('The label of the orchestrator that hosts the server. Absent for one without a label.'),
    tool: z.string(),
    arguments: z
      .string()
      .optional()
      .describe(
        'The JSON text of the arguments, and of a further round with the answers as `signalbox/answers` and the state of the tool’s server as `signalbox/request_state`. In place of tokens and secrets of the configuration stand their lengths and hashes. In a note it is also without values that are secrets by their name or form. Observers are not shown it.',
      ),
    arguments_cut: z
      .literal(true)
      .optional()
      .describe(
        'These are not all arguments, or not all of `meta`, because the list is a brief one; `id` asks for all.',
      ),
    meta: z
      .string()
      .optional()
      .describe(
        'The JSON text of what the tool’s server gets in `_meta` beside the arguments, in the same form. Shown to those who are shown the arguments; absent if that is nothing.',
      ),
    hidden: z
      .int()
      .optional()
      .describe('The number of hidden values in `arguments` and `meta`; absent if there are none.'),
    arguments_hash: z
      .string()
      .describe(
        'A hash of the arguments in canonical form (RFC 8785), with a key that agents and observers do not have.',
      ),
    definition_hash: z
      .string()
      .describe(
        'A hash of the definition of the tool, with `@HOST` if another orchestrator hosts its server.',
      ),
    rule: z.string().describe('The rule of the configuration that has it wait.'),
    created_at: z.number(),
    deadline_at: z.number().describe('A decision after this time changes nothing.'),
    left_at: z
      .number()
      .optional()
      .describe(
        'The time at which its caller was found to wait no longer. An approval then makes no call, and is kept for the next one that is the same.',
      ),
    kept_until: z
      .number()
      .optional()
      .describe('Until this time the same call of its agent runs once without another approval.'),
    ended_at: z.number().optional(),
    by: deciderSchema.optional(),
    reason: z.string().optional(),
  })
  .meta({
    id: 'Approval',
    title: 'approval',
    description: 'A tool call that waits, or waited, for a decision. Times are epoch milliseconds.',
  });
/** A tool call that waits, or waited, for a decision. Times are epoch milliseconds of the orchestrator's clock. */
export type Approval = z.infer<typeof approvalSchema>;

/** Accepts the answer to op `approvals`. */
export const approvalsReplySchema = z.object({
  approvals: z.array(approvalSchema),
  cursor: z.string().optional().describe('Given if there is another page.'),
});
/** The answer to op `approvals`, in `data`, newest first. */
export type ApprovalsReply = z.infer<typeof approvalsReplySchema>;

const standingApprovalSchema = z
  .object({
    id: z.string(),
    agent: z.string(),
    role: z.string(),
    tool: z.string(),
    created_at: z.number(),
    until: z.number(),
    by: deciderSchema,
    reason: z.string().optional(),
  })
  .meta({
    id: 'StandingApproval',
    title: 'standing approval',
    description: 'Calls of one tool by one agent that need no decision for a time.',
  });
/** Calls of one tool by one agent that need no decision for a time. Times are epoch milliseconds. */
export type StandingApproval = z.infer<typeof standingApprovalSchema>;

/** Accepts the answer to op `standing_approvals`. */
export const standingApprovalsReplySchema = z.object({ standing: z.array(standingApprovalSchema) });

/** Accepts the answer to op `decide`. */
export const decideReplySchema = z.object({
  decided: z.boolean().describe('False if it had ended before, so that this decision changes nothing.'),
  approval: approvalSchema,
  standing: standingApprovalSchema.optional(),
});
/** The answer to op `decide`, in `data`: the state of the approval afterwards. */
export type DecideReply = z.infer<typeof decideReplySchema>;

/** Accepts the answer to op `revoke_standing`. */
export const revokeStandingReplySchema = z.object({ revoked: standingApprovalSchema });
