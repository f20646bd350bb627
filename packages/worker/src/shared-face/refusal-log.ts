import type { Log } from '@signalbox/client';
import { Budget } from '@signalbox/serving';
import type { FaceRefusal } from './face-lines.ts';

/** The lines that are written per second in the long run, and the lines that may be written at once. */
const perSecond = 1;
const atOnce = 20;

/**
 * Logs refused connections, which everyone can cause at will: a bounded number at once and one per second. A line says how many were left
 * out before it. `now` returns monotonic milliseconds.
 */
export function refusalLog(log: Log, now: () => number): (refusal: FaceRefusal) => void {
  const lines = new Budget(perSecond, atOnce - 1, now());
  let leftOut = 0;
  return ({ code, message }) => {
    if (lines.waitMs(now()) > 0) {
      leftOut++;
      return;
    }
    lines.spend(1);
    log({ event: 'face_refused', code, reason: message, ...(leftOut > 0 && { leftOut }) });
    leftOut = 0;
  };
}
