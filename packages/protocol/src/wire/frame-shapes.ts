import { rolePattern } from '../names/patterns.ts';
import {
  frame,
  isAddress,
  isAnything,
  isBetween,
  isBoolean,
  isId,
  isListOf,
  isNumber,
  isObjectOf,
  isPositive,
  isRecordOf,
  isSeqs,
  isText,
  isTextUpTo,
  isWhole,
  matches,
  type Shape,
  shape,
} from './shape.ts';
import { isShortJson } from './short-json.ts';

const request = { request_id: isId };

/** Frames of clients by their type, but the common ones: the schemas' own rules, for what they change nothing in. */
export const clientShapes: ReadonlyMap<unknown, Shape> = new Map([
  ['hello', frame({ agent: isAddress, protocol: isWhole }, { token: isTextUpTo(256), role: isText })],
  [
    'subscribe',
    frame(request, {
      window: isBetween(1, 10_000),
      window_bytes: isPositive,
      journal_id: isId,
      ack_deadline_ms: isBetween(100, 3_600_000),
    }),
  ],
  [
    'nack',
    frame(
      { seqs: isSeqs },
      { ...request, delay_ms: isBetween(0, 86_400_000), dead: isBoolean, reason: isTextUpTo(500) },
    ),
  ],
  ['cancel', frame({ to: isAddress, correlation_id: isId })],
  [
    'peek',
    frame(request, {
      address: isAddress,
      after: isBetween(0, Number.MAX_SAFE_INTEGER),
      limit: isBetween(1, 1000),
    }),
  ],
  ['admin', frame({ ...request, op: matches(/^.{1,64}$/s) }, { params: isRecordOf(isAnything) })],
  ['announce', frame({ status: isShortJson })],
  [
    'list_connected',
    frame(request, { role: matches(rolePattern), cursor: isTextUpTo(256), with_status: isBoolean }),
  ],
]);

const connectedAgent = shape(
  { agent: isText, address: isText, role: isText, connected_at: isNumber },
  {
    status: isAnything,
    inbox: isObjectOf(
      shape({
        unread: isBetween(0, Number.MAX_SAFE_INTEGER),
        held: isBetween(0, Number.MAX_SAFE_INTEGER),
      }),
    ),
  },
);

/** Frames of the broker by their type, but the common ones. */
export const brokerShapes: ReadonlyMap<unknown, Shape> = new Map([
  [
    'welcome',
    frame({
      broker_id: isText,
      agent: isText,
      address: isText,
      role: isText,
      limits: isRecordOf(isNumber),
      heartbeat_ms: isNumber,
      receipt_means: isText,
      dedupe_window_ms: isNumber,
    }),
  ],
  [
    'subscribed',
    frame({
      request_id: isText,
      lease: isText,
      pending: isNumber,
      head_seq: isNumber,
      same_journal: isBoolean,
    }),
  ],
  ['ack_result', frame({ request_id: isText, accepted: isListOf(isNumber), rejected: isListOf(isNumber) })],
  [
    'connected',
    frame({ request_id: isText, agents: isListOf(isObjectOf(connectedAgent)) }, { cursor: isText }),
  ],
  ['admin_result', frame({ request_id: isText, result: isAnything })],
  [
    'error',
    frame(
      { code: isText, message: isText, retryable: isBoolean },
      { field: isText, id: isText, request_id: isText, retry_after_ms: isNumber },
    ),
  ],
  ['lease_lost', frame({ reason: isText })],
  ['going_away', frame({ reconnect_after_ms: isNumber })],
]);
