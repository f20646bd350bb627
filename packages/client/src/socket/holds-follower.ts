import type { FollowHoldsFrame, HoldsFrame, HoldsKnownFrame } from '@signalbox/protocol';

/** Called with all current holds: when they are first requested, after each change, and again after a reconnect. */
export type HoldsListener = (holds: Pick<HoldsFrame, 'holds' | 'approvers'>) => void;

/** Asks the broker for the holds, on each connection anew, once somebody listens. */
export class HoldsFollower {
  readonly #send: (frame: FollowHoldsFrame | HoldsKnownFrame) => void;
  readonly #listeners = new Set<HoldsListener>();
  #isConnected = false;

  constructor(send: (frame: FollowHoldsFrame | HoldsKnownFrame) => void) {
    this.#send = send;
  }

  /** Adds a listener; returns a function that removes it. */
  add(listener: HoldsListener): () => void {
    this.#listeners.add(listener);
    if (this.#isConnected) this.#ask();
    return () => this.#listeners.delete(listener);
  }

  /** Asks on a new connection. */
  connected(): void {
    this.#isConnected = true;
    if (this.#listeners.size > 0) this.#ask();
  }

  /** Records that the connection is lost. */
  disconnected(): void {
    this.#isConnected = false;
  }

  /** Passes on the broker's list, and confirms it when the listeners have taken it. */
  received({ version, holds, approvers }: HoldsFrame): void {
    for (const listener of this.#listeners) listener({ holds, approvers });
    this.#send({ type: 'holds_known', version });
  }

  #ask(): void {
    this.#send({ type: 'follow_holds' });
  }
}
