import { type LimitEntry, type LimitOverrides, limitsOf, limitTable } from '@signalbox/protocol';
import { figure } from '@signalbox/protocol/internal';
import { a2aLimits, callLimits, faceLimits, journalLimits, resultLimits } from '@signalbox/serving';
import { z } from 'zod';

/** Accepts the limits that an operator may set for all roles, or for one, under the paths of the table of limits. */
function brokerLimits(isWanted: (limit: LimitEntry) => boolean): z.ZodType<LimitOverrides> {
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
    .meta({ description: `${meaning} Default: ${figure(value)}.`, default: value });
}

/** Accepts the limits of a broker. */
export const brokerLimitsSchema = brokerLimits(() => true).check(({ value, issues }) => {
  const { connections, settled } = limitsOf(undefined, value);
  const { total, reserved } = connections;
  const refuse = (path: string[], message: string): void =>
    void issues.push({ code: 'custom', input: value, path, message });
  if (reserved >= total)
    refuse(
      ['connections', 'reserved'],
      `must be less than connections.total: it is ${reserved}, of ${total}`,
    );
  if (settled.ageMs < settled.repeatMs)
    refuse(
      ['settled', 'ageMs'],
      `must not be less than settled.repeatMs: it is ${settled.ageMs}, of ${settled.repeatMs}`,
    );
});

/** Accepts the limits that a role may have of its own. */
export const roleLimitsSchema = brokerLimits(isPerRole);

/** The paths of these limits below `broker.limits`. A group of which a role may set everything is named alone. */
export const roleLimitNames: readonly string[] = Object.entries<Record<string, LimitEntry>>(
  limitTable,
).flatMap(([group, limits]) => {
  const names = Object.keys(limits).filter((name) => isPerRole(limits[name]!));
  return names.length === Object.keys(limits).length ? [group] : names.map((name) => `${group}.${name}`);
});

function isPerRole({ perRole }: LimitEntry): boolean {
  return perRole === true;
}

/** Accepts the limits of the calls that an orchestrator holds. */
export const callLimitsSchema = partLimits(callLimits);

/** Accepts the limits of an orchestrator's journal. */
export const journalLimitsSchema = partLimits(journalLimits);

/** Accepts the limits of the large results that an orchestrator keeps. */
export const resultLimitsSchema = partLimits(resultLimits);

/** Accepts the limits of a face. */
export const faceLimitsSchema = partLimits(faceLimits);

/** Accepts the limits of the tasks of callers from outside. */
export const a2aLimitsSchema = partLimits(a2aLimits);

function partLimits<Name extends string>(table: Readonly<Record<Name, LimitEntry>>) {
  const shape = Object.entries<LimitEntry>(table).map(([name, limit]) => [name, valueSchema(limit)]);
  return z.strictObject(Object.fromEntries(shape) as Record<Name, z.ZodOptional<z.ZodInt>>);
}
