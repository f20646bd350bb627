import {
  type DeliverFrame,
  defaultLimits,
  idPattern,
  isAddress,
  kindPattern,
  messageOf,
  SignalboxError,
  type WelcomeFrame,
} from '@signalbox/protocol';
import { clientError } from '../errors.ts';

/** A message to be delivered. */
export interface Outgoing {
  /** `agent` or `agent#sub`. */
  to: string;
  kind: string;
  /** A JSON value; left out for a message without a body. */
  body?: unknown;
  /** The same id again is the same message: the broker stores it once. One is made if it is left out. */
  id?: string;
  correlationId?: string;
  /** Lifetime in milliseconds; the broker's default is 7 days. */
  ttlMs?: number;
  /** `seq` of a message of the present lease, acked in the commit that stores this one. */
  settles?: number;
  /** To a live holder only, never stored, without a receipt. */
  ephemeral?: boolean;
  traceparent?: string;
}

/** All deliver frames are made here, of one shape: what reads them is fast only while they are alike. */
export function deliverFrame(
  to: string,
  id: string,
  kind: string,
  { ephemeral, correlationId }: { ephemeral?: boolean | undefined; correlationId?: string | undefined },
): DeliverFrame {
  return {
    type: 'deliver',
    to,
    id,
    kind,
    correlation_id: correlationId,
    ttl_ms: undefined,
    traceparent: undefined,
    settles: undefined,
    ephemeral: ephemeral === true ? true : undefined,
  };
}

/** The frame of a message whose header was checked. */
export function outgoingFrame(message: Outgoing, id: string): DeliverFrame {
  const { ttlMs } = message;
  const frame = deliverFrame(message.to, id, message.kind, message);
  if (ttlMs !== undefined) frame.ttl_ms = Math.max(1, Math.ceil(ttlMs));
  frame.settles = message.settles;
  frame.traceparent = message.traceparent;
  return frame;
}

/** Throws `invalid_message` for what the broker would refuse anyway, possibly without being able to say which. */
export function checkHeader(to: string, kind: string): void {
  if (!isAddress(to)) {
    throw clientError('invalid_message', `'${to}' is not an address: use an agent id, or agent#sub`);
  }
  if (typeof kind !== 'string' || !kindPattern.test(kind)) {
    throw clientError('invalid_message', `'${kind}' is not a kind: use lower-case letters and underscores`);
  }
}

/** Throws `invalid_message`: the broker could not answer under such an id. */
export function checkId(id: string): void {
  if (typeof id !== 'string' || !idPattern.test(id)) {
    throw clientError('invalid_message', 'a message id is 1 to 64 printable ASCII characters without spaces');
  }
}

/**
 * The JSON text of a body. Too large a one is refused here: on the wire it would cost the connection, and again
 * after each reconnect.
 */
export function encodeBody(body: unknown, limits: WelcomeFrame['limits']): string | undefined {
  if (body === undefined) return undefined;
  let text: string | undefined;
  try {
    text = JSON.stringify(body);
  } catch (cause) {
    throw clientError('invalid_message', `the body can't be written as JSON: ${messageOf(cause)}`, { cause });
  }
  if (text === undefined) throw clientError('invalid_message', 'the body is not a JSON value');
  const max = limits.maxMessageBytes ?? defaultLimits.maxMessageBytes;
  if (text.length * 3 > max && Buffer.byteLength(text) > max) {
    throw tooLarge(Buffer.byteLength(text), max);
  }
  return text;
}

function tooLarge(bytes: number, max: number): Error {
  return new SignalboxError(
    'message_too_large',
    `the body is ${bytes} bytes long; the broker takes at most ${max}`,
    { details: { bytes, max } },
  );
}
