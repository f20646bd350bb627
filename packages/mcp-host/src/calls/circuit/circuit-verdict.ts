import type { Failure } from '../../tool-calls/index.ts';
import type { Verdict } from './circuit-breaker.ts';

/** The time for which a call waited for its server, in milliseconds, and the facts to judge it by. */
export interface CallWait {
  waitedMs: number;
  /** The server's own limit for a call, if its configuration has one. */
  limitMs?: number | undefined;
  /** True if the server reported progress: then it is slow rather than dead. */
  sawProgress?: boolean | undefined;
}

/** A server that has not answered for this many milliseconds is unresponsive, unless a lower limit is configured for it. */
const fairWaitMs = 30_000;

/**
 * Returns true if the server had enough time to answer and showed no sign of life. A shorter wait is no failure, so that a caller with a
 * short deadline cannot open the circuit for others.
 */
export function wasFairWait({ waitedMs, limitMs, sawProgress }: CallWait): boolean {
  return !sawProgress && waitedMs >= Math.min(limitMs ?? fairWaitMs, fairWaitMs);
}

/** The facts by which the failure of a call is held against its server or not. */
export interface FailedCallFacts {
  /** True if the caller cancelled the call. */
  aborted: boolean;
  /** True for a server of another orchestrator. Whether that can be reached is asked each second, and no matter of its calls. */
  isElsewhere: boolean;
  /** True if the session of the call was lost, and another call of that session has counted. */
  hasCounted: boolean;
}

/**
 * Returns whether a failed call counts for or against its server. An answer of any kind, also an error or a refusal, shows that the server
 * can be reached.
 */
export function verdictOf(
  failure: Failure | undefined,
  { aborted, isElsewhere, hasCounted }: FailedCallFacts,
): Verdict {
  switch (failure?.kind) {
    case 'not_sent':
    case 'lost':
      return aborted || isElsewhere || hasCounted ? 'neutral' : 'failure';
    case 'timed_out':
      return !aborted && failure.isSilent ? 'failure' : 'neutral';
    case 'no_access':
    case 'told':
    case undefined:
      return 'neutral';
    case 'refused':
    case 'answered':
    case 'too_large':
    case 'bad_answer':
      return 'success';
  }
}
