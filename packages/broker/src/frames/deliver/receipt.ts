import { agentOf, type BrokerFrame, isGroup } from '@signalbox/protocol';
import { figure } from '@signalbox/protocol/internal';
import { type Appended, type Excess, type NewMessage, withoutReserve } from '@signalbox/store';
import type { DeliverResult } from '../../core/producer.ts';
import type { RoleLimits } from '../../limits/role-limits.ts';
import { isUnavailable, storeUnavailable } from '../../store-unavailable.ts';
import { badField, type Refusal } from '../outcome.ts';

type Refused = Exclude<Appended['result'], 'stored' | 'scheduled' | 'duplicate' | 'gone'>;

/** Knows whether anybody reads the messages of an inbox. */
export interface Recipients {
  /** Tells whether a consumer holds an inbox now. */
  isLeased(inbox: string): boolean;
  /** Tells whether a group has a member. */
  hasMembers(group: string): boolean;
}

/** Makes the answer to the sender of a message from its result: the receipt, or a refusal with the reason why it was not stored. */
export function receiptOf(
  message: NewMessage,
  result: DeliverResult,
  limits: RoleLimits,
  { isLeased, hasMembers }: Recipients,
): Extract<BrokerFrame, { type: 'delivered' }> | Refusal {
  const { id, answers, inbox } = message;
  const isElsewhere = result.result === 'stored' && result.isLeasedElsewhere === true;
  const waits = answers !== undefined && !isLeased(inbox) && !isElsewhere ? true : undefined;
  switch (result.result) {
    case 'stored':
    case 'scheduled':
    case 'duplicate': {
      const duplicate = result.result === 'duplicate' ? true : undefined;
      const { sent } = result;
      const members = sent?.members ?? (isGroup(inbox) && !hasMembers(inbox) ? 0 : undefined);
      const refused = sent && sent.refused.length > 0 ? [...sent.refused] : undefined;
      const longestMs = limits.forAll.message.ttlMs;
      const cutMs = message.expiresAt === message.createdAt + longestMs ? longestMs : undefined;
      return { type: 'delivered', id, duplicate, no_consumer: waits, members, refused, ttl_ms: cutMs };
    }
    // No message of a sender is ever `gone`: only the broker releases messages.
    case 'gone':
      return notStored;
    case 'failed':
      return isUnavailable(result.error) ? storeUnavailable : notStored;
    default:
      return refusalOf(message, result, limits);
  }
}

const notStored = { code: 'internal', message: 'the message could not be stored; nothing was kept' } as const;

function refusalOf(
  message: NewMessage,
  refused: Extract<Appended, { result: Refused }>,
  limits: RoleLimits,
): Refusal {
  const { id, kind, correlationId } = message;
  if ('recipient' in refused && refused.recipient !== undefined) {
    const { recipient, ...own } = refused;
    return refusalForAll(message, own, recipient, limits);
  }
  const { inbox } = message;
  const code = refused.result;
  switch (code) {
    case 'no_request':
      return notAnAnswer(kind, message.inbox, correlationId);
    case 'other_address':
      return toOtherAddress(message, refused.address);
    case 'already_answered':
      return answeredAlready(correlationId);
    case 'id_conflict':
      return { code, message: `another message with the id '${id}' waits in '${inbox}'; use a new id` };
    case 'inbox_full':
      return { code, message: inboxFull(message, limits) };
    case 'quota_exceeded':
      return { code, message: quotaExceeded(message, refused, limits) };
    case 'storage_full':
      return { code, message: storageFull(limits) };
  }
}

/** Refuses a message for all members of a group, because one of them can't be given it. */
function refusalForAll(
  message: NewMessage,
  refused: Extract<Appended, { result: Refused }>,
  recipient: string,
  limits: RoleLimits,
): Refusal {
  const one = refusalOf({ ...message, inbox: recipient }, refused, limits);
  const why = `nobody of '${message.inbox}' was given it, because '${recipient}' can't be: ${one.message}; or leave out who can't be with 'partial'`;
  return { ...one, message: why };
}

function inboxFull(message: NewMessage, limits: RoleLimits): string {
  const { messages, bytes } = limits.forAll.inbox;
  const full = `${usable(messages, message, limits)} messages or ${usable(bytes, message, limits)} bytes`;
  return `the inbox '${message.inbox}' is full: ${full}; try again when its owner has read some, or raise broker.limits.inbox`;
}

/** Writes the part of a limit that the message may use: `9,000 (of 10,000; the rest is reserved)`. */
function usable(limit: number, { quota }: NewMessage, { forAll }: RoleLimits): string {
  const ordinary = withoutReserve(limit, forAll.store.reservePercent);
  if (quota === undefined || ordinary === limit) return figure(limit);
  return `${figure(ordinary)} (of ${figure(limit)}; the rest is reserved)`;
}

function storageFull({ forAll: { store } }: RoleLimits): string {
  return `the broker's disk is full, or what is stored takes ${100 - store.reservePercent} % of ${figure(store.bytes)} bytes, and the rest is reserved; try again when there is room, or raise broker.limits.store.bytes`;
}

/** Describes the limit that is reached, and what makes room. */
function quotaExceeded(message: NewMessage, { of, unit, isKept }: Excess, limits: RoleLimits): string {
  const { sender, senderRole: role, inbox } = message;
  const limit = limits.of(role)[of][unit];
  const most = `at most ${figure(limit)} ${unit}`;
  const setting = limits.setting(role, of, unit);
  const recipient = agentOf(inbox);
  switch (of) {
    case 'sender':
      return `${most} of '${sender}' (role '${role}') may wait or be dead letters, and they are reached; try again when some are read or dropped, or raise ${setting}`;
    case 'senderToRecipient':
      return `${most} of '${sender}' (role '${role}') may wait for '${recipient}', and they are reached; try again when some are read, or raise ${setting}`;
    case 'recipient':
    case 'privilegedRecipient':
      if (isKept) {
        return `at most ${usable(limit, message, limits)} ${unit} for '${recipient}' may wait or be dead letters, and what is left of them is kept for senders with less of it than '${sender}'; try again when some are read or dropped, or raise ${setting}`;
      }
      return `at most ${usable(limit, message, limits)} ${unit} for '${recipient}' may wait or be dead letters, and they are reached; try again when some are read or dropped, or raise ${setting}`;
  }
}

/** Refuses the answer to a request that its sender did not get. */
export function notAnAnswer(kind: string, to: string, id: string | undefined): Refusal {
  const message =
    id === undefined
      ? `kind '${kind}' goes only to the sender of a request you were sent, with its id as correlation_id`
      : `you have no request '${id}' of '${agentOf(to)}': answer one that you were sent, by its id, to its sender`;
  return { code: 'forbidden', message, field: 'correlation_id' };
}

/** Refuses the answer to a request that waits for it elsewhere. */
function toOtherAddress({ inbox, correlationId }: NewMessage, address: string): Refusal {
  const why = `'${correlationId}' was asked from '${address}', and nobody waits for its reply at '${inbox}'; send it to '${address}'`;
  return { ...badField('to', why), reply_to: address };
}

/** Refuses the answer to a request that has ended. */
export function answeredAlready(requestId: string | undefined): Refusal {
  const message = `the request '${requestId}' has its end: another reply or a notice is stored, or its time is over; send nothing more`;
  return { code: 'already_answered', message, field: 'correlation_id' };
}
