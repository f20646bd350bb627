import { insert } from './ascending.ts';
import { KeyOrder } from './key-order.ts';
import type { Lease } from './lease.ts';

/**
 * The hold of a group's members on the inbox of the group. Each message is handed to one of them: of those with room, to the one that
 * has waited longest. A member that missed an ack deadline gets nothing before it says something of its messages. It decides who gets
 * what, and does no I/O. Messages up to `cursor` were handed out or passed over. While `behind` is
 * true, those after it are read from the store.
 */
export class SharedLease {
  readonly address: string;
  /** Ascending sequence numbers up to the cursor whose messages are to be handed out again, or after others of their keys. */
  readonly retries: number[] = [];
  /** The highest sequence number that was handed out or passed over. */
  cursor = 0;
  /** True if the store may hold messages after the cursor. */
  behind = true;
  /** True while a read of the inbox runs. */
  reading = false;
  /** True if a message was stored in the inbox since the running read began. */
  missed = false;
  /** True if a member may have got room since the running step of handing out began. */
  changed = false;
  /** Sequence numbers of messages that have ended since the running read began. The read may still return them. */
  readonly endedSinceRead = new Set<number>();
  readonly #members = new Set<Lease>();
  /** The members that had room when it was last looked at, the one that has waited longest first. */
  readonly #waiting = new Set<Lease>();
  readonly #holders = new Map<number, Lease>();
  readonly #keys = new KeyOrder();

  constructor(address: string) {
    this.address = address;
  }

  get isEmpty(): boolean {
    return this.#members.size === 0;
  }

  get members(): Iterable<Lease> {
    return this.#members;
  }

  /** Adds a member, which gets nothing before {@link look} is called. */
  join(member: Lease): void {
    this.#members.add(member);
  }

  /** Removes a member. What becomes of the messages that it has is the caller's business. */
  leave(member: Lease): void {
    this.#members.delete(member);
    this.#waiting.delete(member);
    for (const seq of member.inFlight.keys()) this.#holders.delete(seq);
  }

  /** Returns the member that has a message. */
  holderOf(seq: number): Lease | undefined {
    return this.#holders.get(seq);
  }

  /** Notes that a member may have got room, or lost it. If it waits already and has room, it keeps its place. */
  look(member: Lease): void {
    const mayGet = member.started && !member.isSilent && this.#members.has(member);
    if (mayGet && member.room().messages > 0) this.#waiting.add(member);
    else this.#waiting.delete(member);
  }

  /** Notes that a member missed an ack deadline. */
  missedDeadline(member: Lease): void {
    member.isSilent = true;
    this.look(member);
  }

  /** Notes that a member has said something of its messages, or has joined again. */
  heard(member: Lease): void {
    member.isSilent = false;
    this.look(member);
  }

  /** Returns the member that gets the next message, which is of this size. */
  next(size: number): Lease | undefined {
    for (const member of this.#waiting) {
      if (member.fits(size)) return member;
      // It comes back to the end of the line when it has room again.
      if (member.room().messages <= 0) this.#waiting.delete(member);
    }
    return undefined;
  }

  /** Returns how much all members together may be handed, and the most bytes that one of them may. */
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
  handed(member: Lease, seq: number): void {
    this.#holders.set(seq, member);
    this.#waiting.delete(member);
    this.look(member);
  }

  /** Notes that a member has a message no more. */
  released(member: Lease, seq: number): void {
    if (this.#holders.get(seq) === member) this.#holders.delete(seq);
    this.look(member);
  }

  /** Returns whether a message may be handed out now. If not, others of its key come first, and {@link ended} has it handed out. */
  mayHandOut(seq: number, key: string | undefined): boolean {
    return key === undefined || this.#keys.claim(key, seq);
  }

  /** Notes that a message has ended. Returns true if another one of its key may be handed out now. */
  ended(seq: number): boolean {
    if (this.reading) this.endedSinceRead.add(seq);
    const next = this.#keys.end(seq);
    if (next === undefined) return false;
    this.again(next);
    return true;
  }

  /** Has a message handed out that was passed over, or that a member had. */
  again(seq: number): void {
    insert(this.retries, seq);
  }
}
