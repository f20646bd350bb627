import { z } from 'zod';

/** Why a request ended without an answer: its lifetime passed, it was given up after too many tries, or it was taken away. */
export const undeliverableReasons = ['expired', 'dead', 'dropped', 'forbidden'] as const;

/**
 * Body of an `undeliverable` message, which the broker sends (as agent `broker`) in place of the reply.
 * `may_have_run` is false only where the broker knows that no consumer ever had the request.
 */
export const undeliverableSchema = z.object({
  reason: z.enum(undeliverableReasons),
  may_have_run: z.boolean(),
  detail: z.string().optional(),
});
export type Undeliverable = z.infer<typeof undeliverableSchema>;
