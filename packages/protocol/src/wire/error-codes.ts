/**
 * Codes of `error` frames. `retryable`: the same frame may succeed later, unchanged.
 * `closes`: the broker closes the connection with this WebSocket close code right after the error.
 */
export const errorCodes = {
  bad_frame: { retryable: false },
  unknown_frame: { retryable: false },
  bad_hello: { retryable: false, closes: 4400 },
  hello_timeout: { retryable: true, closes: 4408 },
  unsupported_protocol: { retryable: false, closes: 4406 },
  unauthorized: { retryable: false, closes: 4401 },
  forged_sender: { retryable: false, closes: 4403 },
  forbidden: { retryable: false },
  no_lease: { retryable: false },
  not_yours: { retryable: false },
  id_conflict: { retryable: false },
  message_too_large: { retryable: false },
  inbox_full: { retryable: true },
  quota_exceeded: { retryable: true },
  storage_full: { retryable: true },
  rate_limited: { retryable: true },
  no_consumer: { retryable: true },
  unknown_recipient: { retryable: false },
  unknown_token: { retryable: false },
  unknown_op: { retryable: false },
  shutting_down: { retryable: true },
  slow_consumer: { retryable: true, closes: 4429 },
  internal: { retryable: true },
} as const satisfies Record<string, { retryable: boolean; closes?: number }>;

/** A code of the broker's `error` frame. */
export type ErrorCode = keyof typeof errorCodes;

/** The close code that goes with an error code, or `undefined` where the connection stays open. */
export function closeCodeOf(code: ErrorCode): number | undefined {
  const entry = errorCodes[code];
  return 'closes' in entry ? entry.closes : undefined;
}
