import {
  type DeliverFrame,
  defaultLimits,
  idPattern,
  isRecipient,
  kindPattern,
  messageOf,
  SignalboxError,
  type WelcomeFrame,
} from '@signalbox/protocol';
import { validTraceparent } from '@signalbox/serving/tracing/internal';
import type { Outgoing } from '../broker-client.ts';
import { clientError } from '../errors.ts';

/** Makes every `deliver` frame of this client. They all have the same fields in the same order, so that V8 encodes them quickly. */
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

/** Makes the frame of a message whose header was checked. */
export function outgoingFrame(message: Outgoing, id: string): DeliverFrame {
  const { ttlMs } = message;
  const frame = deliverFrame(message.to, id, message.kind, message);
  if (ttlMs !== undefined) frame.ttl_ms = Math.max(1, Math.ceil(ttlMs));
  frame.settles = message.settles;
  frame.traceparent = validTraceparent(message.traceparent);
  if (message.notBeforeMs !== undefined) frame.not_before_ms = Math.max(1, Math.ceil(message.notBeforeMs));
  if (message.asked !== undefined) frame.asked = message.asked;
  if (message.groupKey !== undefined) frame.group_key = message.groupKey;
  if (message.thread !== undefined) frame.thread = message.thread;
  if (message.all) frame.all = true;
  if (message.partial) frame.partial = true;
  return frame;
}

/** Throws `invalid_message` for a header that the broker would refuse, perhaps without being able to name the message. */
export function checkHeader(to: string, kind: string): void {
  if (!isRecipient(to)) {
    const forms = 'an agent id, agent#sub, role:ROLE or group:NAME';
    throw clientError('invalid_message', `'${to}' is not an address: use ${forms}`);
  }
  if (typeof kind !== 'string' || !kindPattern.test(kind)) {
    throw clientError('invalid_message', `'${kind}' is not a kind: use lower-case letters and underscores`);
  }
}

/** Throws `invalid_message` for an id under which the broker could not answer. */
export function checkId(id: string): void {
  if (typeof id !== 'string' || !idPattern.test(id)) {
    throw clientError('invalid_message', 'a message id is 1 to 64 printable ASCII characters without spaces');
  }
}

/** Throws `invalid_message` for a thread that the broker would refuse. */
export function checkThread(thread: string): void {
  if (typeof thread !== 'string' || !idPattern.test(thread)) {
    throw clientError('invalid_message', 'a thread is 1 to 64 printable ASCII characters without spaces');
  }
}

/**
 * Returns a body as JSON text. Throws `message_too_large` for one over the broker's limit: if it were sent, the broker would close
 * the connection, and again after each reconnect.
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
  const max = limits.message?.bytes ?? defaultLimits.message.bytes;
  if (text.length * 3 > max && Buffer.byteLength(text) > max) {
    throw tooLarge(Buffer.byteLength(text), max);
  }
  return text;
}

function tooLarge(bytes: number, max: number): Error {
  return new SignalboxError(
    'message_too_large',
    `the body is ${bytes} bytes long; the broker takes at most ${max} (broker.limits.message.bytes)`,
    { details: { bytes, max } },
  );
}
