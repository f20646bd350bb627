import type { FoundMessage } from './inbox-store.ts';
import type { GroupFields, NewMessage, Outcome, StoredMessage, StoredMetadata } from './message.ts';

/** The fields that a message mostly shares with those that come right after it. They are kept once for all of them. */
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
  /** Whether the messages count against their sender. */
  readonly isCounted: boolean;
}

/** When a message was settled, and how. */
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
  /** Bytes of the body that it has or had. */
  readonly size: number;
  /** Undefined once it is settled. */
  body: string | undefined;
  attempts: number;
  /** Whether the final reply to this request was stored. */
  answered: boolean;
  /** The agents that have taken it from the inbox of a group, as far as it says so itself: see `OpenRequests`. */
  takers: readonly string[] | undefined;
  /** Undefined while it is pending. */
  ending: Ending | undefined;
}

/** Whether a message is pending and its body was damaged on the disk. It must not be given to a consumer. */
export function hasLostBody({ ending, body, size }: LoggedMessage): boolean {
  return body === undefined && size > 0 && ending === undefined;
}

/** Tells whether a message says the same as a known one. A body that was lost is taken for the same. */
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

/** Returns a message in the form in which the store's interface tells that it was found. */
export function foundMessageOf({ seq, shared, ending }: LoggedMessage): FoundMessage {
  const { kind, senderAddress } = shared;
  return { seq, kind, senderAddress, ...(ending && { outcome: ending.outcome }) };
}

/** The fields of `message` that can be shared: `last` itself if they are the same. */
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

/** A pending message in the form of the store's interface. */
export function storedMessageOf(message: LoggedMessage): StoredMessage {
  return { ...storedMetadataOf(message), body: message.body };
}

/** The same without the body. */
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

/** Returns the takers of a message with another one. Of too many, the first is forgotten. */
export function withTaker(takers: readonly string[] = [], agent: string): readonly string[] {
  return takers.includes(agent) ? takers : [...takers, agent].slice(-maxTakers);
}
