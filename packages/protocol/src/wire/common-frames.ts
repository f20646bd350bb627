import { kindPattern } from '../names/patterns.ts';
import type { BrokerFrame, MessageFrame } from './broker-frames.ts';
import type { AckFrame, DeliverFrame, WorkingFrame } from './client-frames.ts';
import type { Sender } from './message.ts';
import {
  isAddress,
  isBoolean,
  isId,
  isNumber,
  isPositive,
  isSeqs,
  isText,
  isTextUpTo,
  isWhole,
  matches,
} from './shape.ts';

type Fields = Record<string, unknown>;

// Each message passes here several times, so these are written out: every field is read once, and the frame made of them
// has one shape for all its readers and no field that nobody knows. `undefined`: the schema has to judge.

const isKind = matches(kindPattern);
const isTraceparent = isTextUpTo(128);

export function plainDeliver(object: Fields): DeliverFrame | undefined {
  const { to, id, kind, correlation_id, ttl_ms, traceparent, settles, ephemeral } = object;
  const isPlain =
    isAddress(to) &&
    isId(id) &&
    isKind(kind) &&
    (correlation_id === undefined || isId(correlation_id)) &&
    (ttl_ms === undefined || isPositive(ttl_ms)) &&
    (traceparent === undefined || isTraceparent(traceparent)) &&
    (settles === undefined || isPositive(settles)) &&
    (ephemeral === undefined || isBoolean(ephemeral)) &&
    // Claims, and what only the broker may set: never dropped unseen.
    object.from === undefined &&
    object.role === undefined &&
    object.attempt === undefined &&
    object.seq === undefined;
  if (!isPlain) return undefined;
  return { type: 'deliver', to, id, kind, correlation_id, ttl_ms, traceparent, settles, ephemeral };
}

export function plainAck(object: Fields): AckFrame | undefined {
  const { seqs, request_id } = object;
  if (!isSeqs(seqs) || !(request_id === undefined || isId(request_id))) return undefined;
  return { type: 'ack', seqs, request_id };
}

export function plainWorking({ seqs }: Fields): WorkingFrame | undefined {
  return isSeqs(seqs) ? { type: 'working', seqs } : undefined;
}

export function plainDelivered({ id, duplicate }: Fields): BrokerFrame | undefined {
  if (!isText(id) || !(duplicate === undefined || isBoolean(duplicate))) return undefined;
  return { type: 'delivered', id, duplicate };
}

export function plainMessage(object: Fields): MessageFrame | undefined {
  const { id, seq, to, kind, correlation_id, created_at, remaining_ms, attempt, traceparent } = object;
  const from = plainSender(object.from);
  const isPlain =
    from !== undefined &&
    isText(id) &&
    isText(to) &&
    isText(kind) &&
    isNumber(created_at) &&
    (seq === undefined || isPositive(seq)) &&
    (correlation_id === undefined || isText(correlation_id)) &&
    (remaining_ms === undefined || isNumber(remaining_ms)) &&
    (attempt === undefined || isWhole(attempt)) &&
    (traceparent === undefined || isText(traceparent));
  if (!isPlain) return undefined;
  return {
    type: 'message',
    id,
    seq,
    from,
    to,
    kind,
    correlation_id,
    created_at,
    remaining_ms,
    attempt,
    traceparent,
  };
}

function plainSender(value: unknown): Sender | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { agent, address, role } = value as Fields;
  return isText(agent) && isText(address) && isText(role) ? { agent, address, role } : undefined;
}
