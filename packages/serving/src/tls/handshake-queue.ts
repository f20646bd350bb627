import { Budget } from '../index.ts';
import { clientGroup } from './client-group.ts';

/** The options of {@link HandshakeQueue}. */
export interface HandshakeQueueOptions {
  perSecond: number;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
  /** Calls `work` after this many milliseconds; with 0 in a later turn of the event loop. */
  after: (ms: number, work: () => void) => void;
}

/** The time whose handshakes may be begun at once, as a part of a second. */
const burstPart = 0.02;

/** Begins a waiting handshake. Returns false if it is no longer needed, because its client has left. */
type Begin = () => boolean;

/**
 * Begins handshakes at a bounded rate, one in a turn of the event loop, since each takes about a millisecond of the processor. Waiting
 * handshakes take turns by the address of their clients, so that a flood from one address delays only that address.
 */
export class HandshakeQueue {
  readonly #options: HandshakeQueueOptions;
  readonly #budget: Budget;
  /** The waiting handshakes by the group of their address. The group whose turn is next comes first. */
  readonly #waiting = new Map<string, Begin[]>();
  #isDue = false;

  constructor(options: HandshakeQueueOptions) {
    const { perSecond, monotonic } = options;
    this.#options = options;
    this.#budget = new Budget(perSecond, Math.max(1, perSecond * burstPart), monotonic());
  }

  /** Adds the handshake of a client at this address. */
  add(address: string, begin: Begin): void {
    const group = clientGroup(address);
    const waiting = this.#waiting.get(group);
    if (waiting) waiting.push(begin);
    else this.#waiting.set(group, [begin]);
    this.#runAfter(0);
  }

  #runAfter(ms: number): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#options.after(ms, () => {
      this.#isDue = false;
      this.#run();
    });
  }

  #run(): void {
    const waitMs = this.#budget.waitMs(this.#options.monotonic());
    if (waitMs > 0) {
      this.#runAfter(waitMs);
      return;
    }
    for (let begin = this.#next(); begin; begin = this.#next()) {
      if (!begin()) continue;
      this.#budget.spend(1);
      break;
    }
    if (this.#waiting.size > 0) this.#runAfter(0);
  }

  /** Removes the next handshake from the queue. Its group goes after the others. */
  #next(): Begin | undefined {
    const [first] = this.#waiting;
    if (!first) return undefined;
    const [group, waiting] = first;
    this.#waiting.delete(group);
    const begin = waiting.shift();
    if (waiting.length > 0) this.#waiting.set(group, waiting);
    return begin;
  }
}
