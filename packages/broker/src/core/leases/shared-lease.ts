import type { KeyMode } from '@signalbox/store';
import { insert } from './ascending.ts';
import type { Lease } from './lease.ts';
import { KeyMembers, KeyOrder } from './message-keys.ts';

/** The facts of a message that decide which member gets it. */
export interface Candidate {
  seq: number;
  size: number;
  /** The key that its sender gave it. */
  key: string | undefined;
  /** The agent that sent it. */
  sender: string;
}

/** Claims that are to be returned to the cluster: see `ClusterPort.unclaim`. */
export interface Unclaimed {
  seqs: readonly number[];
  isHandedOver: boolean;
  wasHandedOut: boolean;
  keys: readonly string[];
}

/**
 * The hold of a group's members on the inbox of the group. Each message is handed to one member: of the members with room, to the one that
 * has waited longest. A member that missed an ack deadline gets nothing until it sends a frame about its messages. This class decides which
 * member gets a message, and does no I/O. Messages up to `cursor` were handed out or passed over. While `behind` is true, later ones are
 * read from the store.
 */
export class SharedLease {
  readonly address: string;
  /** The mode in which messages with the same key are handed out. */
  readonly keys: KeyMode;
  /** The sequence numbers up to the cursor of messages that are to be handed out again, or after others of their keys, ascending. */
  readonly retries: number[] = [];
  /** The highest sequence number that was handed out or passed over. */
  cursor = 0;
  /** True if the store may hold messages after the cursor. */
  behind = true;
  /** True while a read of the inbox runs. */
  reading = false;
  /** True if a message was stored in the inbox since the running read began. */
  missed = false;
  /** True if a member may have got room since the current step of handing out began. */
  changed = false;
  /** Sequence numbers of messages that have ended since the running read began. The read may still return them. */
  readonly endedSinceRead = new Set<number>();
  /** The claims that are to be returned. */
  readonly unclaimed: Unclaimed[] = [];
  readonly #members = new Set<Lease>();
  /** The members that had room at the last look, the one that has waited longest first. */
  readonly #waiting = new Set<Lease>();
  readonly #holders = new Map<number, Lease>();
  readonly #order = new KeyOrder();
  readonly #owners = new KeyMembers();
  /** The messages that were handed over to other brokers once, because no member here had room for them. */
  readonly #handedOver = new Set<number>();

  /** True if the messages before the cursor must be read again. */
  #isAnew = false;
  /** The sequence number after which that continues. */
  #anewAfter: number | undefined;

  constructor(address: string, keys: KeyMode = 'in_order') {
    this.address = address;
    this.keys = keys;
  }

  get isEmpty(): boolean {
    return this.#members.size === 0;
  }

  get members(): Iterable<Lease> {
    return this.#members;
  }

  /** Begins a read of the inbox. Returns the number after which it reads. */
  beginRead(): number {
    this.missed = false;
    this.endedSinceRead.clear();
    if (this.#isAnew) this.#anewAfter = 0;
    this.#isAnew = false;
    return this.#anewAfter ?? this.cursor;
  }

  /** Notes that the messages that were read up to a number were handed out or passed over. */
  passed(upTo: number): void {
    if (this.#anewAfter !== undefined) this.#anewAfter = upTo < this.cursor ? upTo : undefined;
    this.cursor = Math.max(this.cursor, upTo);
  }

  /** Starts to read the whole inbox again. */
  lookAnew(): void {
    this.#isAnew = true;
  }

  /** Returns the member that gets all messages of a sender, if keys stay with a member. */
  ownerOf(sender: string): Lease | undefined {
    return this.#owners.of(sender);
  }

  /** Returns the member that gets the unstored messages of a sender: the one that gets its stored messages, or else any. */
  anyFor(sender: string): Lease | undefined {
    const [first] = this.#members;
    return this.ownerOf(sender) ?? first;
  }

  /** Adds a member, which gets nothing until {@link look} is called. */
  join(member: Lease): void {
    this.#members.add(member);
  }

  /** Removes a member, which frees its keys. The caller decides about the messages that it has. */
  leave(member: Lease): void {
    this.#members.delete(member);
    this.#waiting.delete(member);
    for (const seq of member.inFlight.keys()) this.#holders.delete(seq);
    for (const seq of this.#owners.leave(member)) this.again(seq);
  }

  /** Returns the member that has a message. */
  holderOf(seq: number): Lease | undefined {
    return this.#holders.get(seq);
  }

  /** Notes that a member may have got room, or lost it. A member that waits already and still has room keeps its place. */
  look(member: Lease): void {
    const mayGet = member.started && !member.isSilent && this.#members.has(member);
    const room = mayGet ? member.room().messages : 0;
    if (room > 0) this.#waiting.add(member);
    else this.#waiting.delete(member);
    for (const seq of this.#owners.take(member, room)) this.again(seq);
  }

  /** Notes that a member missed an ack deadline. */
  missedDeadline(member: Lease): void {
    member.isSilent = true;
    this.look(member);
  }

  /** Notes that a member has sent a frame about its messages, or has joined again. */
  heard(member: Lease): void {
    member.isSilent = false;
    this.look(member);
  }

  /**
   * Returns the member that gets the next message. `later`: the message waits for the member with its key, and is handed out when that one
   * has room. Returns `undefined` if no member has room.
   */
  next({ seq, size, sender }: Pick<Candidate, 'seq' | 'size' | 'sender'>): Lease | 'later' | undefined {
    const owner = this.keys === 'by_member' ? this.#owners.of(sender) : undefined;
    if (!owner) return this.#nextWaiting(size);
    const isNext = this.#waiting.has(owner) && owner.fits(size) && !this.#owners.hasEarlier(owner, seq);
    if (isNext) return owner;
    this.#owners.wait(owner, seq);
    return 'later';
  }

  #nextWaiting(size: number): Lease | undefined {
    for (const member of this.#waiting) {
      if (member.fits(size)) return member;
      // It goes to the end of the line when it has room again.
      if (member.room().messages <= 0) this.#waiting.delete(member);
    }
    return undefined;
  }

  /** Returns how many messages and bytes all members together may be handed, and the most bytes that one of them may. */
  room(): { messages: number; bytes: number } {
    const all = { messages: 0, bytes: 0 };
    for (const member of this.#waiting) {
      const { messages, bytes } = member.room();
      all.messages += Math.max(0, messages);
      all.bytes = Math.max(all.bytes, bytes);
    }
    return all;
  }

  /** Notes that a member was handed a message. It goes to the end of the line. */
  handed(member: Lease, { seq, sender }: Pick<Candidate, 'seq' | 'sender'>): void {
    this.#holders.set(seq, member);
    this.#handedOver.delete(seq);
    if (this.keys === 'by_member') this.#owners.give(sender, member);
    this.#waiting.delete(member);
    this.look(member);
  }

  /** Notes that a member no longer has a message. */
  released(member: Lease, seq: number): void {
    if (this.#holders.get(seq) === member) this.#holders.delete(seq);
    this.look(member);
  }

  /** Tells whether a message may be handed out now. If not, others of its key come first, and {@link ended} announces its turn. */
  mayHandOut({ seq, key }: Pick<Candidate, 'seq' | 'key'>): boolean {
    return key === undefined || this.keys === 'by_member' || this.#order.claim(key, seq);
  }

  /** Notes that a message has ended. Returns true if another one of its key may be handed out now. */
  ended(seq: number): boolean {
    if (this.reading) this.endedSinceRead.add(seq);
    this.#handedOver.delete(seq);
    const next = this.#order.end(seq);
    if (next === undefined) return false;
    this.again(next);
    return true;
  }

  /** Notes that a message is handed over to other brokers. Returns false if it was handed over before: then they had no room for it either. */
  handOver(seq: number): boolean {
    if (this.#handedOver.has(seq)) return false;
    this.#handedOver.add(seq);
    return true;
  }

  /** Makes a message be handed out again that was passed over, or that a member had. */
  again(seq: number): void {
    insert(this.retries, seq);
  }
}
