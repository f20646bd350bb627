import type { Failure } from '../failures/failure.ts';
import type { Verdict } from './circuit-breaker.ts';

/** What the server was given before a call of it was given up. Times in milliseconds. */
export interface CallWait {
  waitedMs: number;
  /** The server's own limit, if its configuration has one. */
  limitMs: number | undefined;
  /** Whether it reported progress, and so is slow rather than dead. */
  sawProgress: boolean;
  /** Whether the caller took the call back. */
  aborted: boolean;
}

/** A server that has no limit of its own may be called unresponsive after this. */
const fairWaitMs = 30_000;

/** Whether a wait was long enough to hold it against the server; a caller in a hurry must not shut it for the others. */
export function wasFairWait({ waitedMs, limitMs, sawProgress }: Omit<CallWait, 'aborted'>): boolean {
  return !sawProgress && waitedMs >= Math.min(limitMs ?? fairWaitMs, fairWaitMs);
}

/**
 * What a failed call says about the way to its server, by the kind of the failure. Whatever the server answered, errors and
 * refusals too, shows that it can be reached.
 */
export function verdictOf(failure: Failure, wait: CallWait): Verdict {
  switch (failure.kind) {
    case 'not_sent':
    case 'lost':
      return wait.aborted ? 'neutral' : 'failure';
    case 'timed_out':
      return !wait.aborted && wasFairWait(wait) ? 'failure' : 'neutral';
    case 'no_access':
      return 'neutral';
    case 'refused':
    case 'answered':
    case 'bad_answer':
      return 'success';
  }
}
