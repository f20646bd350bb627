import type { RequestOutcome } from '@signalbox/client';
import { SignalboxError } from '@signalbox/protocol';

/** The outcome of a request that got no reply. */
export type FailedOutcome = Exclude<RequestOutcome, { status: 'completed' }>;

/**
 * Turns the outcome of a question without a reply into an error. `details.may_have_run` says whether the orchestrator may have received it,
 * `details.interrupted` that we ended it ourselves.
 */
export function outcomeError(outcome: FailedOutcome, to: string): SignalboxError {
  const details = { may_have_run: outcome.mayHaveRun };
  switch (outcome.status) {
    case 'not_sent':
    case 'rejected':
      return new SignalboxError(outcome.error.code, outcome.error.message, {
        retryable: outcome.error.retryable,
        cause: outcome.error,
        details: { ...outcome.error.details, ...details },
      });
    case 'undeliverable':
      // The broker may notice the end of the time before the client does.
      if (outcome.reason === 'expired') return lateAnswer(to, details);
      return new SignalboxError(
        'undeliverable',
        [`${to}: ${undeliverable[outcome.reason] ?? outcome.reason}`, outcome.detail ?? []].flat().join(': '),
        {
          details: {
            ...details,
            reason: outcome.reason,
            ...(outcome.detail !== undefined && { detail: outcome.detail }),
            ...(outcome.reason === 'dead' && { hint: 'the operator sees it with: signalbox dead list' }),
          },
        },
      );
    case 'timed_out':
      return lateAnswer(to, details);
    case 'cancelled':
      return new SignalboxError('cancelled', 'interrupted; the request is withdrawn', {
        details: { ...details, interrupted: true },
      });
    case 'connection_lost':
      return lostConnection(outcome.error, details);
  }
}

function lateAnswer(to: string, details: Record<string, unknown>): SignalboxError {
  return new SignalboxError('timed_out', `${to} did not answer in time; the request is withdrawn`, {
    retryable: true,
    details: {
      ...details,
      hint: 'give it longer with --timeout, or see who is there with: signalbox agents',
    },
  });
}

/** Takes over the reason that the broker gave: after a revoked token, for example, asking again is useless. */
function lostConnection(
  reason: SignalboxError | undefined,
  details: Record<string, unknown>,
): SignalboxError {
  const lost = 'the connection to the broker was lost before an answer came';
  if (!reason) return new SignalboxError('connection_lost', lost, { retryable: true, details });
  return new SignalboxError(reason.code, `${lost}: ${reason.message}`, {
    retryable: reason.retryable,
    cause: reason,
    details: { ...reason.details, ...details },
  });
}

const undeliverable: Readonly<Record<string, string>> = {
  dead: 'the message was given up',
  dropped: 'the message was taken away before it was answered',
  forbidden: 'the answer was refused',
  bad_body: 'the answer cannot be read: it is no JSON',
};
