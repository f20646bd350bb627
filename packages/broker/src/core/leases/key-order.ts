import { insert } from './ascending.ts';

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
