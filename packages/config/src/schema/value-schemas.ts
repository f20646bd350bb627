import { z } from 'zod';

/** Longest time that a timer of Node keeps, in milliseconds: 24.8 days. A longer one would end at once. */
const longestMs = 2 ** 31 - 1;

/** How many of something may run at once. */
export const limit = z.int().min(1).max(100_000);

/** A time in milliseconds. */
export const milliseconds = z.int().min(1).max(longestMs);

/** A time in milliseconds, where 0 has a meaning of its own. */
export const millisecondsOrZero = z.int().min(0).max(longestMs);

/** A text with something in it that can stand in a path or an argument. */
export const nonEmpty = z
  .string()
  .min(1, { error: 'must not be empty' })
  .refine((text) => !text.includes('\0'), { error: 'must not contain a NUL character' });

export const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' });

/** Values that are handed on as they are, as arguments and environment are. */
export const strings = z.record(z.string(), z.string());

/** At most so many calls in so much time. */
export const budgetSchema = z.strictObject({
  calls: z.int().min(1).max(1_000_000_000),
  perSeconds: z
    .int()
    .min(1)
    .max(Math.floor(longestMs / 1000)),
});

/** One path, or several. */
export const paths = z.union([nonEmpty, z.array(nonEmpty)], {
  error: 'must be a path, or a list of paths',
});

export const toolPatterns = z.array(nonEmpty);
