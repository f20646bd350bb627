import { messageOf } from '@signalbox/protocol';
import { formatDuration } from '@signalbox/protocol/duration';
import { type CheckName, type Finding, failed } from './finding.ts';

/** Returns what it finds, and may call `tell` with findings before that. The signal aborts when its time is over. */
export type Judge = (
  tell: (finding: Finding) => void,
  signal: AbortSignal,
) => Promise<readonly Finding[]> | readonly Finding[];

/** The longest time of a check unless it has another, in milliseconds. */
const limitMs = 15_000;

/** Runs checks, each within its time, and tells what they find. */
export class ChecksRun {
  readonly #onFinding: (check: CheckName, finding: Finding) => void;
  readonly #signal: AbortSignal;

  /** No check begins after `signal` is aborted. */
  constructor(onFinding: (check: CheckName, finding: Finding) => void, signal: AbortSignal) {
    this.#onFinding = onFinding;
    this.#signal = signal;
  }

  /**
   * Runs a check. Never rejects: an error is a failure of the check, and so is a check that takes longer than `timeMs`. `graceMs` is the
   * time in which a check that was aborted may still tell what it knows.
   */
  async run(check: CheckName, judge: Judge, { timeMs = limitMs, graceMs = 0 } = {}): Promise<void> {
    if (this.#signal.aborted) return;
    let isOver = false;
    const tell = (finding: Finding): void => {
      if (!isOver) this.#onFinding(check, finding);
    };
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(timeMs)]);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<readonly Finding[]>((resolve) => {
      timer = setTimeout(() => resolve([lateFinding(timeMs)]), timeMs + graceMs);
    });
    try {
      const found = await Promise.race([Promise.resolve().then(() => judge(tell, signal)), late]);
      for (const finding of found) tell(finding);
    } catch (error) {
      if (!this.#signal.aborted) tell(failed(messageOf(error), 'run it again with SIGNALBOX_LOG=debug'));
    } finally {
      clearTimeout(timer);
      isOver = true;
    }
  }
}

function lateFinding(timeMs: number): Finding {
  return failed(
    `this check did not end within ${formatDuration(timeMs)}`,
    'look at what it asks: a disk, a broker or a program that does not answer',
  );
}
