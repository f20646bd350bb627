/**
 * The codes of `error` frames. `retryable` tells whether the same frame may succeed later. If a code has `closes`, the broker closes
 * the connection with that WebSocket close code right after the error.
 */
export const errorCodes = {
  bad_frame: { retryable: false, meaning: 'The frame breaks a rule of this page; `field` names the field.' },
  unknown_frame: { retryable: false, meaning: 'The broker does not know a frame of this `type`.' },
  bad_hello: {
    retryable: false,
    closes: 4400,
    meaning: 'The first frame is not a `hello` that can be read.',
  },
  hello_timeout: { retryable: true, closes: 4408, meaning: 'No `hello` came in time.' },
  unsupported_protocol: { retryable: false, closes: 4406, meaning: 'The broker speaks another version.' },
  unauthorized: {
    retryable: false,
    closes: 4401,
    meaning: 'The token is missing, unknown, expired or revoked.',
  },
  token_unchecked: {
    retryable: true,
    closes: 4431,
    meaning: 'The token of an identity provider can’t be checked now, for want of the provider’s keys.',
  },
  forged_sender: { retryable: false, closes: 4403, meaning: 'A claimed agent or role is not the token’s.' },
  forbidden: { retryable: false, meaning: 'The policy of the sender’s role does not allow it.' },
  held: {
    retryable: true,
    meaning: 'An operator holds the sender; the message says who does, since when and why.',
  },
  unknown_hold: { retryable: false, meaning: 'No hold, agent or role has this name.' },
  not_working: { retryable: false, meaning: 'The agent works on no message that `stop_work` names.' },
  no_lease: { retryable: false, meaning: 'The connection does not hold its inbox; `subscribe` first.' },
  not_yours: { retryable: false, meaning: 'The inbox belongs to another agent.' },
  already_answered: {
    retryable: false,
    meaning:
      'The request has its end: another reply or a notice is stored, or its time is over. The reply is not stored, and the request is acked.',
  },
  id_conflict: { retryable: false, meaning: 'Another message with this id waits in the inbox.' },
  message_too_large: {
    retryable: false,
    meaning: 'The body exceeds `message.bytes`, or its copies together `message.recipientBytes`.',
  },
  inbox_full: { retryable: true, meaning: 'The inbox has reached `inbox.messages` or `inbox.bytes`.' },
  quota_exceeded: {
    retryable: true,
    meaning:
      'The sender or the recipient has reached a limit of the group `sender`, `senderToRecipient`, `recipient` or `privilegedRecipient`; the message says which.',
  },
  storage_full: { retryable: true, meaning: 'The broker has reached `store.bytes`, or its disk is full.' },
  storage_unavailable: {
    retryable: true,
    meaning:
      'The database of the broker can’t be reached, or is too busy. A message that is sent again with its id is stored once.',
  },
  rate_limited: { retryable: true, meaning: 'Too many in a short time; wait for `retry_after_ms`.' },
  no_consumer: { retryable: true, meaning: 'Nobody holds the inbox that an ephemeral message was sent to.' },
  unknown_recipient: { retryable: false, meaning: 'No agent, or no group, has this name.' },
  unknown_token: { retryable: false, meaning: 'No token has this id.' },
  unknown_op: { retryable: false, meaning: 'The broker does not know this operation of `admin`.' },
  backup_failed: {
    retryable: false,
    meaning: 'The backup was given up, and what was made of it is removed.',
  },
  shutting_down: { retryable: true, meaning: 'The broker is about to stop.' },
  slow_consumer: { retryable: true, closes: 4429, meaning: 'The connection does not read what it is sent.' },
  too_many_connections: {
    retryable: true,
    closes: 4430,
    meaning: 'The agent, or the broker, has all the connections of its limits.',
  },
  internal: { retryable: true, meaning: 'The broker failed; nothing was kept.' },
} as const satisfies Record<string, { retryable: boolean; closes?: number; meaning: string }>;

/** A code of the broker's `error` frame. */
export type ErrorCode = keyof typeof errorCodes;

/** Returns the WebSocket close code that goes with an error code, or `undefined` if the connection stays open. */
export function closeCodeOf(code: ErrorCode): number | undefined {
  const entry = errorCodes[code];
  return 'closes' in entry ? entry.closes : undefined;
}
