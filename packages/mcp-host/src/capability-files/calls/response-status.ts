import { type Failure, readRetryAfter } from '../../tool-calls/index.ts';

/** The meaning of a status that is no answer for a model: a failure on the way, or a key that the service refuses. */
export type StatusVerdict = Failure | 'bad_key' | undefined;

/** Tells whether an answer with this status is about the access or the load; its body is not read then. */
export function isAboutAccess(status: number): boolean {
  return [401, 403, 407, 408, 429].includes(status);
}

/** Classifies an answer by its status. `excerpt` is the beginning of its text, without secrets. */
export function judgeStatus(status: number, headers: Headers, excerpt: string): StatusVerdict {
  const retryAfterSeconds = readRetryAfter(headers);
  const reason = `HTTP ${status}${excerpt === '' ? '' : `: ${excerpt}`}`;
  if (status === 408 || status === 429 || (status === 403 && retryAfterSeconds !== undefined)) {
    // A service whose 403 asks to come back later means 429.
    return { kind: 'refused', status: status === 403 ? 429 : status, reason, retryAfterSeconds };
  }
  if (status === 401 || status === 403 || status === 407) return 'bad_key';
  return status >= 500 ? { kind: 'lost', reason, retryAfterSeconds } : undefined;
}
