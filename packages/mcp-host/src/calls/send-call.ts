import { mayRepeat } from '@signalbox/protocol';
import { cancelledCall, circuitOpen, withEarlierTry } from '../failures/call-errors.ts';
import type { Failure } from '../failures/failure.ts';
import { type Attempt, attemptCall, type OutgoingCall } from './call-attempt.ts';
import { gaveUp } from './caller-signal.ts';
import type { CircuitBreaker, CircuitChange } from './circuit-breaker.ts';
import type { ToolCallResult } from './tool-call.ts';

/** How long a call rests before it is made a second time. */
const retryPauseMs = 250;

/** What decides whether and when a call is sent. */
export interface SendRules {
  breaker: CircuitBreaker;
  /** Resolves after `ms`, or earlier when `signal` aborts; never rejects. */
  pause: (ms: number, signal: AbortSignal) => Promise<void>;
  onCircuit: (change: CircuitChange) => void;
}

export interface SentCall {
  outcome: ToolCallResult;
  /** See {@link Attempt.isHeldBack}. */
  isHeldBack: boolean;
}

/**
 * Makes a call as far as the circuit lets it, and once more after a failure of the transport if the tool and the deadline
 * allow: over the session that came after the one that failed.
 */
export async function sendCall(call: OutgoingCall, rules: SendRules): Promise<SentCall> {
  const first = await throughCircuit(call, rules, undefined);
  if (!canRetry(first, call)) return sent(first);
  await rules.pause(retryPauseMs, call.options.signal);
  if (gaveUp(call.options.signal)) {
    return { outcome: { error: cancelledCall(call.tool, first.failure.kind === 'lost') }, isHeldBack: false };
  }
  const second = await throughCircuit(call, rules, first);
  if ('result' in second.outcome) return sent(second);
  const error = withEarlierTry(second.outcome.error, first.failure);
  return { ...sent(second), outcome: { error } };
}

function sent({ outcome, isHeldBack = false }: Attempt): SentCall {
  return { outcome, isHeldBack };
}

type Broken = Attempt & { failure: Failure };

/** Never after a timeout: a server that hangs would only hang twice. */
function canRetry(
  attempt: Attempt,
  { tool, repeatable, options, deadline, now }: OutgoingCall,
): attempt is Broken {
  const kind = attempt.failure?.kind;
  const isAllowed = kind === 'not_sent' ? mayRepeat(tool, false) : kind === 'lost' && repeatable;
  return isAllowed && !options.signal.aborted && deadline - now() > retryPauseMs;
}

async function throughCircuit(
  call: OutgoingCall,
  { breaker, onCircuit }: SendRules,
  earlier: Broken | undefined,
): Promise<Attempt> {
  const permit = breaker.enter();
  if ('retryAfterMs' in permit) {
    return { outcome: { error: circuitOpen(call.target.name, permit) }, verdict: 'neutral' };
  }
  const used = earlier?.failure.kind === 'not_sent' ? earlier.connection : undefined;
  let attempt: Attempt | undefined;
  try {
    attempt = await attemptCall(call, { isProbe: permit.isProbe, used });
    return attempt;
  } finally {
    const cause = attempt?.failure?.reason ?? call.target.lastError;
    onCircuit(breaker.leave(permit, attempt?.verdict ?? 'neutral', cause));
  }
}
