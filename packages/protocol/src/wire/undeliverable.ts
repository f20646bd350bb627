import { z } from 'zod';

/**
 * The reasons why a request ended without an answer: it expired, it became a dead letter, its inbox was emptied, the token of its sender no
 * longer exists, or the disk damaged it.
 */
export const undeliverableReasons = ['expired', 'dead', 'dropped', 'forbidden', 'damaged'] as const;

/** Accepts the body of an `undeliverable` message. */
export const undeliverableSchema = z.object({
  reason: z.enum(undeliverableReasons),
  may_have_run: z.boolean(),
  detail: z.string().optional(),
});

/**
 * The body of an `undeliverable` message, which the broker sends (as agent `broker`) in place of the reply.
 * `may_have_run` is false only if the broker knows that no consumer ever had the request.
 */
export type Undeliverable = z.infer<typeof undeliverableSchema>;
