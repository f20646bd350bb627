import type { FoundMessage } from './inbox-store.ts';
import type { GroupFields, NewMessage, Outcome, StoredMessage, StoredMetadata } from './message.ts';

/** The fields that a message mostly shares with those right after it. They are kept once for all of them. */
export interface SharedFields {
  readonly inbox: string;
  readonly sender: string;
  readonly senderAddress: string;
  readonly senderRole: string;
  readonly tokenId: string | undefined;
  readonly kind: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** See `NewMessage.openUntil`. */
  readonly openUntil: number | undefined;
  /** True if the messages count against their sender. */
  readonly isCounted: boolean;
}

/** The time and the way in which a message was settled. */
export interface Ending {
  readonly at: number;
  readonly outcome: Outcome;
  readonly reason: string | null;
}

/** A message as the memtable, the commit log and the segments hold it. */
export interface LoggedMessage {
  readonly seq: number;
  readonly shared: SharedFields;
  readonly id: string;
  readonly correlationId: string | undefined;
  readonly traceparent: string | undefined;
  readonly group: GroupFields | undefined;
  readonly thread: string | undefined;
  /** The bytes of its body, also after the body was dropped. */
  readonly size: number;
  /** `undefined` once the message is settled. */
  body: string | undefined;
  attempts: number;
  /** True if the final reply to this request was stored. */
  answered: boolean;
  /** The agents that have taken it from the inbox of a group, as far as the message itself has them: see `OpenRequests`. */
  takers: readonly string[] | undefined;
  /** `undefined` while the message is pending. */
  ending: Ending | undefined;
}

/** Tells whether a message is pending and the disk has damaged its body. It must not be given to a consumer. */
export function hasLostBody({ ending, body, size }: LoggedMessage): boolean {
  return body === undefined && size > 0 && ending === undefined;
}

/** Tells whether a message has the same content as a known one. A lost body counts as the same. */
export function isSameContent(known: LoggedMessage, message: NewMessage): boolean {
  const { shared, correlationId, body } = known;
  const isSameBody = body === message.body || hasLostBody(known);
  return shared.kind === message.kind && correlationId === message.correlationId && isSameBody;
}

/** Returns the answer to a message with the id of a known one, or `undefined` if none is known. */
export function repeatOf(
  known: LoggedMessage | undefined,
  message: NewMessage,
): 'duplicate' | 'id_conflict' | undefined {
  if (!known) return undefined;
  return known.ending || isSameContent(known, message) ? 'duplicate' : 'id_conflict';
}

/** Converts a message to the form in which the store's interface returns found messages. */
export function foundMessageOf({ seq, shared, ending }: LoggedMessage): FoundMessage {
  const { kind, senderAddress } = shared;
  return { seq, kind, senderAddress, ...(ending && { outcome: ending.outcome }) };
}

/** Returns the fields of `message` that can be shared: `last` itself if they are the same. */
export function sharedFieldsOf(
  message: NewMessage,
  last: SharedFields | undefined,
  isCounted = message.quota !== undefined,
): SharedFields {
  const { inbox, sender, senderAddress, senderRole, tokenId, kind, createdAt, expiresAt, openUntil } =
    message;
  if (
    last !== undefined &&
    createdAt === last.createdAt &&
    expiresAt === last.expiresAt &&
    openUntil === last.openUntil &&
    isCounted === last.isCounted &&
    kind === last.kind &&
    inbox === last.inbox &&
    sender === last.sender &&
    senderAddress === last.senderAddress &&
    senderRole === last.senderRole &&
    tokenId === last.tokenId
  ) {
    return last;
  }
  return {
    inbox,
    sender,
    senderAddress,
    senderRole,
    tokenId,
    kind,
    createdAt,
    expiresAt,
    openUntil,
    isCounted,
  };
}

/** Converts a pending message to the form of the store's interface. */
export function storedMessageOf(message: LoggedMessage): StoredMessage {
  return { ...storedMetadataOf(message), body: message.body };
}

/** Converts a pending message to the form of the store's interface, without its body. */
export function storedMetadataOf(message: LoggedMessage): StoredMetadata {
  const { shared } = message;
  return {
    inbox: shared.inbox,
    id: message.id,
    sender: shared.sender,
    senderAddress: shared.senderAddress,
    senderRole: shared.senderRole,
    kind: shared.kind,
    correlationId: message.correlationId,
    traceparent: message.traceparent,
    group: message.group,
    thread: message.thread,
    createdAt: shared.createdAt,
    expiresAt: shared.expiresAt,
    openUntil: shared.openUntil,
    seq: message.seq,
    size: message.size,
    attempts: message.attempts,
    answered: message.answered || undefined,
    damaged: hasLostBody(message) || undefined,
  };
}

/** The most agents that are remembered as takers of one message. */
const maxTakers = 16;

/** Returns the takers of a message with another one added. If there are too many, the first is forgotten. */
export function withTaker(takers: readonly string[] = [], agent: string): readonly string[] {
  return takers.includes(agent) ? takers : [...takers, agent].slice(-maxTakers);
}
