import type { Failure } from '../../tool-calls/index.ts';

/** The meaning of a status that is no answer for a model: a failure on the way, or a key that the service refuses. */
export type StatusVerdict =
  | { failure: Failure; retryAfterSeconds: number | undefined }
  | 'bad_key'
  | undefined;

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
    return { failure: { kind: 'refused', status: status === 403 ? 429 : status, reason }, retryAfterSeconds };
  }
  if (status === 401 || status === 403 || status === 407) return 'bad_key';
  return status >= 500 ? { failure: { kind: 'lost', reason }, retryAfterSeconds } : undefined;
}

/** Reads the `Retry-After` header as seconds. A date is counted from the answer's own date, so that our clock doesn't matter. */
function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,9}$/.test(value)) return Number(value);
  const seconds = Math.ceil((Date.parse(value) - Date.parse(headers.get('date') ?? '')) / 1_000);
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
