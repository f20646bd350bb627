import type { RunTimes } from '@signalbox/protocol/run-times';

/** A run that is less late than this was not missed. In milliseconds. */
const onTimeMs = 60_000;

/**
 * Returns the time of the run that is to be done now; `undefined` for none. Of several runs since `after`, all but the last are left
 * out. The last one is done if it was not missed, or if it is less than `catchUpMs` old.
 */
export function dueRun(
  times: RunTimes,
  {
    after,
    now,
    catchUpMs = Number.POSITIVE_INFINITY,
  }: { after: number; now: number; catchUpMs?: number | undefined },
): number | undefined {
  const last = times.last(now);
  if (last === undefined || last <= after) return undefined;
  return now - last < Math.max(catchUpMs, onTimeMs) ? last : undefined;
}
