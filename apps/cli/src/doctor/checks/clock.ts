import type { ClockHold } from '@signalbox/client/operator';
import { isNotableLeap } from '@signalbox/client/operator/internal';
import { formatDuration } from '@signalbox/protocol/duration';
import { type Finding, failed, ok, warning } from '../finding.ts';

/** A difference that is worth a warning, in milliseconds. */
const muchMs = 2000;
/** A step after which a broker no longer trusts its clock, in milliseconds. */
const leapMs = 60_000;

const sync =
  'set the clock, and keep it right with chrony or systemd-timesyncd: timedatectl shows whether it is';

/** The facts about clocks. All are in milliseconds; those that are not known are absent. */
export interface ClockFacts {
  /** The wall clock minus the steady one: a step of the wall clock since this process started. */
  steppedMs: number;
  /** The broker's clock minus this machine's. */
  brokerAheadMs?: number;
  /** The newest change of a database of a stopped broker, minus now. */
  dataAheadMs?: number;
  /** A leap that the broker does not trust. */
  hold?: ClockHold | undefined;
}

/** Judges the clocks of this machine and of the broker. */
export function clockFindings({ steppedMs, brokerAheadMs, dataAheadMs, hold }: ClockFacts): Finding[] {
  const found: Finding[] = [];
  if (Math.abs(steppedMs) > muchMs) {
    found.push(warning(`the clock of this machine was moved by ${moved(steppedMs)} while doctor ran`, sync));
  }
  if (dataAheadMs !== undefined && dataAheadMs > leapMs) {
    found.push(
      failed(
        `the clock was set back: the databases were written ${formatDuration(dataAheadMs)} later than it is now`,
        `${sync}; until then deadlines and tokens end late`,
      ),
    );
  }
  if (brokerAheadMs !== undefined && Math.abs(brokerAheadMs) > muchMs) {
    const way = brokerAheadMs > 0 ? 'ahead of' : 'behind';
    found.push(
      warning(
        `the clock of the broker is ${formatDuration(Math.abs(brokerAheadMs))} ${way} the one of this machine`,
        `${sync}, on both machines`,
      ),
    );
  }
  if (isNotableLeap(hold)) {
    found.push(
      warning(
        `the clock of the broker leapt by ${moved(hold.to - hold.from)}, and the broker does not trust it for another ${formatDuration(hold.left_ms)}`,
        'see what is held back: signalbox clock show   (signalbox clock accept makes the broker trust it)',
      ),
    );
  }
  if (found.length > 0) return found;
  return [
    ok(
      brokerAheadMs === undefined
        ? 'no step of the clock was noticed'
        : `the clock of the broker and the one of this machine agree`,
    ),
  ];
}

function moved(ms: number): string {
  return `${ms < 0 ? '-' : ''}${formatDuration(Math.abs(ms))}`;
}
