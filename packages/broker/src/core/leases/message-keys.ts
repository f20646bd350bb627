import { insert } from './ascending.ts';
import type { Lease } from './lease.ts';

/** The messages of one key: the one that may be or was handed out, and those that wait for its end. */
interface Line {
  current: number;
  /** The sequence numbers that wait, ascending. */
  waiting: number[];
}

/**
 * Keeps messages with the same key in their order: one at a time may be handed out. The others wait until it has ended, also while it waits
 * to be handed out again.
 */
export class KeyOrder {
  readonly #byKey = new Map<string, Line>();
  /** The keys of the messages that may be handed out. */
  readonly #keys = new Map<number, string>();

  /** Tells whether a message may be handed out now. If not, it waits for its turn, which {@link end} announces. */
  claim(key: string, seq: number): boolean {
    const line = this.#byKey.get(key);
    if (!line) {
      this.#byKey.set(key, { current: seq, waiting: [] });
      this.#keys.set(seq, key);
      return true;
    }
    if (line.current === seq) return true;
    insert(line.waiting, seq);
    return false;
  }

  /** Notes that a message has ended. Returns the next one of its key, which may be handed out now. */
  end(seq: number): number | undefined {
    const key = this.#keys.get(seq);
    const line = key === undefined ? undefined : this.#byKey.get(key);
    if (key === undefined || !line) return undefined;
    this.#keys.delete(seq);
    const next = line.waiting.shift();
    if (next === undefined) this.#byKey.delete(key);
    else {
      line.current = next;
      this.#keys.set(next, key);
    }
    return next;
  }
}

/**
 * Gives all messages with the same key to one member of a group while that member lives. Messages for a member without room wait for it,
 * even if others have room.
 */
export class KeyMembers {
  readonly #byKey = new Map<string, Lease>();
  /** The sequence numbers that wait for each member, ascending. */
  readonly #waiting = new Map<Lease, number[]>();

  /** Returns the member that has a key. */
  of(key: string): Lease | undefined {
    return this.#byKey.get(key);
  }

  /** Gives a key to a member, if nobody has it. */
  give(key: string, member: Lease): void {
    if (!this.#byKey.has(key)) this.#byKey.set(key, member);
  }

  /** Tells whether earlier messages than this one wait for a member. */
  hasEarlier(member: Lease, seq: number): boolean {
    return (this.#waiting.get(member)?.[0] ?? seq) < seq;
  }

  /** Makes a message wait for a member. */
  wait(member: Lease, seq: number): void {
    const waiting = this.#waiting.get(member) ?? [];
    this.#waiting.set(member, waiting);
    insert(waiting, seq);
  }

  /** Removes the messages that waited for a member, at most `limit` of them, and returns them. */
  take(member: Lease, limit: number): number[] {
    const waiting = this.#waiting.get(member);
    if (!waiting || limit <= 0) return [];
    const taken = waiting.splice(0, limit);
    if (waiting.length === 0) this.#waiting.delete(member);
    return taken;
  }

  /** Frees the keys of a member that has left. Returns the messages that waited for it. */
  leave(member: Lease): number[] {
    for (const [key, owner] of this.#byKey) if (owner === member) this.#byKey.delete(key);
    const waiting = this.#waiting.get(member) ?? [];
    this.#waiting.delete(member);
    return waiting;
  }
}
