import type { NewMessage, Outcome, StoredMessage, StoredMetadata } from '../inbox-store.ts';
import type { Inbox } from './inbox.ts';
import type { Ending, Settled } from './settled-message.ts';

/** What messages that come one after the other mostly have in common. */
export interface Origin {
  readonly home: Inbox;
  readonly sender: string;
  readonly senderAddress: string;
  readonly senderRole: string;
  readonly tokenId: string | undefined;
  readonly kind: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** `last` if that is the message's origin, too. */
export function originOf(home: Inbox, message: NewMessage, last: Origin | undefined): Origin {
  const { sender, senderAddress, senderRole, tokenId, kind, createdAt, expiresAt } = message;
  if (
    last !== undefined &&
    home === last.home &&
    createdAt === last.createdAt &&
    expiresAt === last.expiresAt &&
    kind === last.kind &&
    sender === last.sender &&
    senderAddress === last.senderAddress &&
    senderRole === last.senderRole &&
    tokenId === last.tokenId
  ) {
    return last;
  }
  return { home, sender, senderAddress, senderRole, tokenId, kind, createdAt, expiresAt };
}

/**
 * A message that came lately, settled or not. Thousands of them live for a while and each is copied by the garbage
 * collector, so it is small, and its body goes when it is settled.
 */
export class RecentMessage {
  readonly seq: number;
  readonly origin: Origin;
  readonly id: string;
  readonly correlationId: string | undefined;
  readonly traceparent: string | undefined;
  readonly size: number;
  /** Bytes of its body in its record; 0 for one that was settled after it had been in the table. */
  readonly recorded: number;
  /** Gone once it is settled. */
  body: string | undefined;
  attempts = 0;
  /** Undefined while it isn't settled. */
  ending: Ending | undefined = undefined;
  /** It went to the table before the others of its record. */
  hasLeft = false;
  /** An older one of its id in its inbox. */
  sameId: RecentMessage | undefined = undefined;

  constructor(seq: number, origin: Origin, message: NewMessage, size: number) {
    this.seq = seq;
    this.origin = origin;
    this.id = message.id;
    this.correlationId = message.correlationId;
    this.traceparent = message.traceparent;
    this.size = size;
    this.body = message.body;
    this.recorded = message.body === undefined ? 0 : size;
  }

  get home(): Inbox {
    return this.origin.home;
  }
  get inbox(): string {
    return this.origin.home.name;
  }
  get sender(): string {
    return this.origin.sender;
  }
  get senderAddress(): string {
    return this.origin.senderAddress;
  }
  get senderRole(): string {
    return this.origin.senderRole;
  }
  get tokenId(): string | undefined {
    return this.origin.tokenId;
  }
  get kind(): string {
    return this.origin.kind;
  }
  get createdAt(): number {
    return this.origin.createdAt;
  }
  get expiresAt(): number {
    return this.origin.expiresAt;
  }
  get at(): number | undefined {
    return this.ending?.at;
  }
  get outcome(): Outcome | undefined {
    return this.ending?.outcome;
  }
  get reason(): string | null | undefined {
    return this.ending?.reason;
  }
}

export function storedOf(recent: RecentMessage): StoredMessage {
  return { ...metadataOf(recent), body: recent.body };
}

export function metadataOf(recent: RecentMessage): StoredMetadata {
  return {
    inbox: recent.inbox,
    id: recent.id,
    sender: recent.sender,
    senderAddress: recent.senderAddress,
    senderRole: recent.senderRole,
    kind: recent.kind,
    correlationId: recent.correlationId,
    traceparent: recent.traceparent,
    createdAt: recent.createdAt,
    expiresAt: recent.expiresAt,
    seq: recent.seq,
    size: recent.size,
    attempts: recent.attempts,
  };
}

export function isSettled(recent: RecentMessage): recent is RecentMessage & Settled {
  return recent.ending !== undefined;
}
