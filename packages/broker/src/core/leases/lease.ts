import { isSubInbox } from '@signalbox/protocol';
import type { KeyMode } from '@signalbox/store';
import type { Consumer } from '../consumer.ts';
import type { MessageHeader } from '../message-header.ts';

/** A message that was pushed and is not settled yet. */
export interface InFlightMessage extends MessageHeader {
  /** The number of failed attempts before this one. */
  attempts: number;
  /** The start of its ack deadline, in monotonic milliseconds. */
  renewedAt: number;
  /** True once the consumer has handed it to its handler. */
  working: boolean;
  /** The trace context of this attempt, if its consumer told it. */
  attemptTrace: string | undefined;
  /** True once its sender has cancelled it. Then it is not pushed again when the lease ends. */
  cancelled: boolean;
  /** True if it was settled while its consumer had it. The consumer's ack or nack then changes nothing. */
  ended: boolean;
}

/** The bounds that a subscriber sets on pushed messages, and the facts that identify its consumer. */
export interface LeaseOptions {
  /** The most messages that may be pushed and not settled. */
  window: number;
  /** The most bytes of bodies that may be pushed and not settled. */
  windowBytes: number;
  /** The time in which a message must be settled, or renewed by `working`, in milliseconds. After it, the attempt has failed. */
  ackDeadlineMs?: number;
  /** The token with which the consumer subscribed. */
  tokenId?: string;
  /** A name that the consumer chose for itself and keeps over its connections. */
  consumerId?: string;
  /** The agent of the consumer and its role. Without it, the lease is never on hold. */
  holder?: Member;
  /** The agent of the consumer and its role, if the inbox belongs to a group, whose members share it. */
  member?: Member;
  /**
   * The mode in which messages with the same key are handed to the members; `in_order` by default. It is the same for all members of an
   * inbox.
   */
  keys?: KeyMode;
}

/** An agent under the role of its token. */
export interface Member {
  readonly agent: string;
  readonly role: string;
}

/**
 * One consumer's hold on one inbox. Messages up to `cursor` were pushed. While `behind` is true, the messages after it are read from the
 * store; while it is false, they are pushed when they are stored. A member of a group has a lease of its own on the messages that it was
 * handed; the `SharedLease` then knows how far the inbox was read.
 */
export class Lease {
  readonly id: string;
  readonly address: string;
  readonly consumer: Consumer;
  readonly inFlight = new Map<number, InFlightMessage>();
  /** Sequence numbers up to the cursor whose messages are to be pushed again. */
  readonly retries: number[] = [];
  /** The highest sequence number that was pushed or passed over. */
  cursor = 0;
  /** The highest number of a message that any broker may have handed out before this lease. */
  handedOutBefore = Number.POSITIVE_INFINITY;
  /** True if the store may hold messages after the cursor. */
  behind = true;
  /** True while a read of the inbox runs. */
  reading = false;
  /** True if a message was stored in the inbox since the running read began. */
  missed = false;
  /** The sequence numbers of messages that were settled since the running read began. The read may still return them. */
  readonly settledSinceRead = new Set<number>();
  /** True if messages were settled by something other than its consumer since a read last waited for settlements to be written. */
  wasSettledElsewhere = false;
  /** True once messages may be pushed: the consumer knows of its lease. */
  started = false;
  /** True once the lease is over. */
  ended = false;
  /** True if it ended because another broker took the inbox. Then late acks have changed nothing. */
  isLost = false;
  /** True for a member of a group that missed an ack deadline and has sent no frame about its messages since. */
  isSilent = false;
  /** True while an operator holds the agent: only answers to its questions are pushed, and nothing to its main inbox or as a member. */
  isOnHold = false;
  /** The sequence numbers up to the cursor that were passed over because of a hold, ascending. */
  readonly heldBack: number[] = [];
  /** {@link LeaseOptions.ackDeadlineMs} */
  readonly ackDeadlineMs: number | undefined;
  /** {@link LeaseOptions.tokenId} */
  readonly tokenId: string | undefined;
  /** {@link LeaseOptions.consumerId} */
  readonly consumerId: string | undefined;
  /** {@link LeaseOptions.holder} */
  readonly holder: Member | undefined;
  /** {@link LeaseOptions.member} */
  readonly member: Member | undefined;
  /** True for a member of a group. */
  readonly isShared: boolean;
  /** {@link LeaseOptions.keys} */
  readonly keys: KeyMode;
  #window: number;
  #windowBytes: number;
  /** The bytes of the bodies in flight. */
  #bytes = 0;

  constructor(id: string, address: string, consumer: Consumer, options: LeaseOptions) {
    this.id = id;
    this.address = address;
    this.consumer = consumer;
    this.ackDeadlineMs = options.ackDeadlineMs;
    this.tokenId = options.tokenId;
    this.consumerId = options.consumerId;
    this.holder = options.holder ?? options.member;
    this.member = options.member;
    this.isShared = options.member !== undefined;
    this.keys = options.keys ?? 'in_order';
    this.#window = options.window;
    this.#windowBytes = options.windowBytes;
  }

  /** True while nothing is pushed because of a hold. A sub-inbox is not paused: it exists for answers. */
  get isPaused(): boolean {
    return this.isOnHold && (this.isShared || !isSubInbox(this.address));
  }

  /** Tells whether it is known that no broker has handed out this message of the inbox. */
  hasNotHandedOut(seq: number): boolean {
    return seq > this.handedOutBefore && seq > this.cursor;
  }

  /** Changes how many messages and bytes may be pushed and not settled. Messages in flight stay. */
  setWindow({ window, windowBytes }: Pick<LeaseOptions, 'window' | 'windowBytes'>): void {
    this.#window = window;
    this.#windowBytes = windowBytes;
  }

  /** Returns how many messages and bytes may still be pushed. A message that is larger than the whole window is pushed alone. */
  room(): { messages: number; bytes: number } {
    if (!this.consumer.writable || this.#bytes >= this.#windowBytes || this.isPaused)
      return { messages: 0, bytes: 0 };
    return { messages: this.#window - this.inFlight.size, bytes: this.#windowBytes - this.#bytes };
  }

  /** Tells whether a message of this size may be pushed now. */
  fits(size: number): boolean {
    return (
      !this.isPaused && this.inFlight.size < this.#window && this.fitsBytes(size) && this.consumer.writable
    );
  }

  /** Tells whether the bytes of a message fit beside those in flight. A message that is larger than the whole window fits alone. */
  fitsBytes(size: number): boolean {
    return this.#bytes === 0 || this.#bytes + size <= this.#windowBytes;
  }

  /** Counts a pushed message against the window, until it is released. */
  hold(seq: number, message: InFlightMessage): void {
    this.inFlight.set(seq, message);
    this.#bytes += message.size;
    if (seq > this.cursor) this.cursor = seq;
  }

  /** Notes that a message was settled by something other than its consumer's ack or nack, so that a running read does not push it. */
  settledElsewhere(seq: number): void {
    this.wasSettledElsewhere = true;
    if (this.reading) this.settledSinceRead.add(seq);
  }

  /** Removes a message from those in flight and returns it. Returns `undefined` if the consumer does not hold it. */
  release(seq: number): InFlightMessage | undefined {
    const message = this.inFlight.get(seq);
    if (!message) return undefined;
    this.inFlight.delete(seq);
    this.#bytes -= message.size;
    return message;
  }
}
