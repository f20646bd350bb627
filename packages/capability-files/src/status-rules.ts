import type { Failure } from '@signalbox/mcp-host';

/** What a status means that is no answer for a model: a failure on the way, or a key that isn't taken. */
export type StatusVerdict =
  | { failure: Failure; retryAfterSeconds: number | undefined }
  | 'bad_key'
  | undefined;

/** Judges an answer by its status. `said` is what it said, short and free of secrets. */
export function judgeStatus(status: number, headers: Headers, said: string): StatusVerdict {
  const retryAfterSeconds = readRetryAfter(headers);
  const reason = `HTTP ${status}${said === '' ? '' : `: ${said}`}`;
  if (status === 408 || status === 429 || (status === 403 && retryAfterSeconds !== undefined)) {
    // A service that says "too much" with 403 means the same.
    return { failure: { kind: 'refused', status: status === 403 ? 429 : status, reason }, retryAfterSeconds };
  }
  if (status === 401 || status === 403 || status === 407) return 'bad_key';
  return status >= 500 ? { failure: { kind: 'lost', reason }, retryAfterSeconds } : undefined;
}

/** Seconds; a date counts from the answer's own date, whatever our clock says. */
function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,9}$/.test(value)) return Number(value);
  const seconds = Math.ceil((Date.parse(value) - Date.parse(headers.get('date') ?? '')) / 1_000);
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
