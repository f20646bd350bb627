import { type LimitEntry, type LimitOverrides, limitTable } from '@signalbox/protocol';
import { z } from 'zod';

/** Accepts the limits that an operator may set for all roles, or for one, under the paths of the table of limits. */
function limitsSchema(isWanted: (limit: LimitEntry) => boolean): z.ZodType<LimitOverrides> {
  const groups = Object.entries<Record<string, LimitEntry>>(limitTable).flatMap(([group, limits]) => {
    const wanted = Object.entries(limits).filter(([, limit]) => isWanted(limit));
    if (wanted.length === 0) return [];
    const shape = Object.fromEntries(wanted.map(([name, limit]) => [name, valueSchema(limit)]));
    return [[group, z.strictObject(shape).optional()] as const];
  });
  return z.strictObject(Object.fromEntries(groups)) as unknown as z.ZodType<LimitOverrides>;
}

function valueSchema({ default: value, min = 1, max = Number.MAX_SAFE_INTEGER, meaning }: LimitEntry) {
  return z
    .int()
    .min(min)
    .max(max)
    .optional()
    .describe(`${meaning} Default: ${value.toLocaleString('en-US')}.`);
}

/** Accepts the limits of a broker. */
export const brokerLimitsSchema = limitsSchema(() => true);

/** Accepts the limits that a role may have of its own. */
export const roleLimitsSchema = limitsSchema(({ perRole }) => perRole === true);
