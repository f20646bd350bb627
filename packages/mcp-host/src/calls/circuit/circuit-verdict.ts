import type { Failure } from '../../failures/failure.ts';
import type { Verdict } from './circuit-breaker.ts';

/** How long a call waited for its server, in milliseconds. */
export interface CallWait {
  waitedMs: number;
  /** The server's own limit for a call, if its configuration has one. */
  limitMs?: number | undefined;
  /** Whether the server reported progress, and so is slow rather than dead. */
  sawProgress?: boolean | undefined;
}

/** A server without a limit of its own may be called unresponsive after this. */
const fairWaitMs = 30_000;

/**
 * Whether a wait was long enough to hold it against the server; a caller in a hurry must not open the circuit for the
 * others.
 */
export function wasFairWait({ waitedMs, limitMs, sawProgress }: CallWait): boolean {
  return !sawProgress && waitedMs >= Math.min(limitMs ?? fairWaitMs, fairWaitMs);
}

/**
 * Says what the failure of a call tells about the way to its server. An answer of any kind, errors and refusals too,
 * shows that the server can be reached. `aborted`: the caller took the call back.
 */
export function verdictOf(failure: Failure | undefined, aborted: boolean): Verdict {
  switch (failure?.kind) {
    case 'not_sent':
    case 'lost':
      return aborted ? 'neutral' : 'failure';
    case 'timed_out':
      return !aborted && failure.isSilent ? 'failure' : 'neutral';
    case 'no_access':
    case undefined:
      return 'neutral';
    case 'refused':
    case 'answered':
    case 'bad_answer':
      return 'success';
  }
}
