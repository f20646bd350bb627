import { type DeliverFrame, type ErrorFrame, SignalboxError } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';

/** Codes of errors that arise in the client itself; those of the broker's `error` frames are the protocol's. */
export const clientErrorCodes = {
  /** No welcome was reached: nobody listens, or the handshake did not finish in time. */
  unreachable: { retryable: true },
  /** Another user could have put the broker's Unix socket where it is. Nothing was sent. */
  untrusted_socket: { retryable: false },
  /** The broker's certificate was not accepted, or the two sides support no common encryption. Nothing was sent. */
  untrusted_certificate: { retryable: false },
  /** One side encrypts and the other does not. Nothing was sent. */
  wrong_scheme: { retryable: false },
  /** The connection ended before the answer came. */
  connection_lost: { retryable: true },
  /** The deadline passed first. */
  timed_out: { retryable: true },
  /** The caller's AbortSignal ended it. */
  aborted: { retryable: false },
  /** An operator stopped the work on a message, which is a dead letter now. */
  stopped_by_operator: { retryable: false },
  /** The client was closed by its owner. */
  closed: { retryable: false },
  /** Another client subscribed to the same address and holds it now. */
  taken_over: { retryable: false },
  /** Another client holds the inbox, and nobody said that it may be taken from it. */
  inbox_in_use: { retryable: false },
  /** The broker ended the connection and does not want this client back. */
  closed_by_broker: { retryable: false },
  /** The message breaks a rule that is checked before sending. */
  invalid_message: { retryable: false },
} as const;

/** A code of an error that arises in the client itself. */
export type ClientErrorCode = keyof typeof clientErrorCodes;

/** Makes an error that arises in the client itself. */
export function clientError(
  code: ClientErrorCode,
  message: string,
  options: { cause?: unknown; details?: Record<string, unknown> } = {},
): SignalboxError {
  return new SignalboxError(code, message, { ...options, retryable: clientErrorCodes[code].retryable });
}

/** The advice for a Unix socket of another user's broker. */
export const otherUserHint = "connect as the user who runs the broker, or name the broker's TCP address";

/** Makes the error of a broker that no connection could be made to. */
export function unreachable(url: string, why: string, cause: unknown, closeCode?: number): SignalboxError {
  const mayNot = errnoOf(cause) === 'EACCES';
  return clientError('unreachable', `can't connect to ${url}: ${mayNot ? 'this user may not use it' : why}`, {
    cause,
    details: { ...(closeCode !== undefined && { closeCode }), ...(mayNot && { hint: otherUserHint }) },
  });
}

/** Makes the error of a round in which no address led to a broker. If an attempt was refused, the error has the code of the refusal. */
export function noBrokerReached(errors: readonly SignalboxError[]): SignalboxError {
  const telling = errors.find(({ retryable }) => !retryable) ?? errors[0]!;
  if (errors.length === 1) return telling;
  const { code, retryable, details } = telling;
  const message = errors.map((error) => error.message).join('; ');
  return new SignalboxError(code, message, { retryable, cause: telling, details });
}

/** Makes the error of a message that one broker may have stored, while another one answers now. */
export function brokerReplacedError({ id, to }: DeliverFrame): SignalboxError {
  const message = `the broker was replaced or restored from a backup before the receipt for the message to ${to} came`;
  return clientError('connection_lost', message, { details: { id, mayBeStored: true } });
}

/** Turns the broker's `error` frame into an error; its `retry_after_ms` is in `details.retryAfterMs`, its `reply_to` in `details.replyTo`. */
export function brokerError(frame: ErrorFrame): SignalboxError {
  return new SignalboxError(frame.code, frame.message, {
    retryable: frame.retryable,
    details: {
      ...(frame.field !== undefined && { field: frame.field }),
      ...(frame.reply_to !== undefined && { replyTo: frame.reply_to }),
      ...(frame.retry_after_ms !== undefined && { retryAfterMs: frame.retry_after_ms }),
    },
  });
}

/** Returns the wait before a retry that the broker asked for, in milliseconds. */
export function retryAfterMsOf(error: SignalboxError): number | undefined {
  const { retryAfterMs } = error.details;
  return typeof retryAfterMs === 'number' ? retryAfterMs : undefined;
}
