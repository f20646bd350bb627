import type { RunTimes } from '@signalbox/protocol/run-times';

/** The delay from which on a run counts as missed, in milliseconds. */
const onTimeMs = 60_000;

/**
 * Returns the time of the run that is due now; `undefined` if there is none. Of several runs since `after`, only the last is considered. It
 * is due if it was not missed, since this broker has run since `upSince`, or if it is less than `catchUpMs` old.
 */
export function dueRun(
  times: RunTimes,
  {
    after,
    now,
    upSince,
    catchUpMs = Number.POSITIVE_INFINITY,
  }: { after: number; now: number; upSince: number; catchUpMs?: number | undefined },
): number | undefined {
  const last = times.last(now);
  if (last === undefined || last <= after) return undefined;
  return last >= upSince || now - last < Math.max(catchUpMs, onTimeMs) ? last : undefined;
}
