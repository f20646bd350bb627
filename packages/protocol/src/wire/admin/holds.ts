import { z } from 'zod';
import { frameLimits } from '../frame-limits.ts';
import { wholeNumber } from './params.ts';

/** The kinds of targets that a hold may be on. */
export const holdSubjects = ['agent', 'role', 'tool', 'all'] as const;

/** The most holds at a time. */
export const maxHolds = 256;

const onError = `must be one of ${holdSubjects.join(', ')}`;
const nameError = `must be a text of 1 to ${frameLimits.adminTextLength} characters`;
const reasonError = `must be one line of 1 to ${frameLimits.holdReasonLength} characters without control characters`;

/** Accepts a hold: its holder, target, time and reason. */
export const holdSchema = z
  .object({
    id: z.string(),
    on: z.enum(holdSubjects),
    name: z.string().optional().describe('The agent, the role or the pattern of tools. Absent for `all`.'),
    reason: z.string(),
    by: z.string().describe('The agent that placed it.'),
    token_id: z.string().describe('The token with which it was placed.'),
    created_at: z.number(),
    until: z.number().optional().describe('It ends by itself then, by the broker’s clock.'),
    cancel_running: z.literal(true).optional().describe('Calls that run are cancelled, too.'),
    damaged: z
      .literal(true)
      .optional()
      .describe('Its row was damaged on the disk, so that it counts as a hold on everything.'),
  })
  .meta({
    id: 'Hold',
    title: 'hold',
    description: 'A hold on an agent, a role, tools or everything. Times are of the broker’s clock.',
  });
/** A hold: its holder, target, time and reason. Times are epoch milliseconds of the broker's clock. */
export type Hold = z.infer<typeof holdSchema>;

/** Describes the operations on holds. */
export function holdOperations() {
  const on = z.enum(holdSubjects, { error: onError });
  const name = z.string({ error: nameError }).min(1, { error: nameError }).max(frameLimits.adminTextLength, {
    error: nameError,
  });
  return {
    hold: {
      meaning:
        'Places a hold. The answer follows when it is on disk and the orchestrators that are connected to any broker act by it, or about two seconds have passed. Agents and roles that the broker does not know are refused.',
      params: z.object({
        on,
        name: name.optional().describe('Needed unless `on` is `all`.'),
        reason: z
          .string({ error: reasonError })
          .min(1, { error: reasonError })
          .max(frameLimits.holdReasonLength, { error: reasonError })
          .refine((text) => !/[\p{Cc}\p{Bidi_Control}]/u.test(text), { error: reasonError }),
        until: wholeNumber(1, frameLimits.latestTime)
          .optional()
          .describe('It ends by itself then. Epoch milliseconds.'),
        for_ms: wholeNumber(1, frameLimits.lifetimeMs)
          .optional()
          .describe('It ends by itself after this time; instead of `until`.'),
        cancel_running: z
          .boolean({ error: 'must be true or false' })
          .optional()
          .describe('Cancels the calls that run, too.'),
        unchecked: z
          .boolean({ error: 'must be true or false' })
          .optional()
          .describe('Takes names that the broker does not know.'),
      }),
      result: z.object({
        hold: holdSchema,
        unconfirmed: z
          .literal(true)
          .optional()
          .describe(
            'Some orchestrator, or another broker, did not confirm in time. Calls may go on there until it does.',
          ),
      }),
    },
    release: {
      meaning:
        'Releases holds by their ids, or the one hold on an agent, a role, a pattern of tools or everything. The answer follows when that is on disk.',
      params: z.object({
        ids: z
          .array(z.string({ error: 'must be a list of texts' }), { error: 'must be a list of texts' })
          .min(1, { error: 'must name at least one hold' })
          .max(maxHolds, { error: `must name at most ${maxHolds} holds` })
          .optional(),
        on: on.optional(),
        name: name.optional(),
      }),
      result: z.object({ released: z.array(holdSchema) }),
    },
    holds: {
      meaning: 'Lists the holds that stand, the oldest first.',
      params: z.object({}),
      result: z.object({ holds: z.array(holdSchema) }),
    },
  };
}
