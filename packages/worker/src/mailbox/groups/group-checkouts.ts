import { type Arrival, type CheckedOutMessage, checkedOutOf } from '../inbox/checked-out-messages.ts';

/**
 * The time for which an agent holds a message of a group, in milliseconds: from the last read that returned it. Then another member of the
 * group gets it.
 */
export const checkoutMs = 10 * 60_000;

/** The most messages that are remembered after they were lost. */
const maxLost = 100;

/** A message of a group that this agent was handed. `isLive` is false once another member may have it. */
export interface GroupCheckout extends CheckedOutMessage {
  /** The session of the client whose read returned it last, if its connection has sessions. */
  session: string | undefined;
}

/** The messages of one group that an agent was handed and has not finished with. Lost ones are remembered for a late reply. */
export class GroupCheckouts {
  readonly #bySeq = new Map<number, GroupCheckout>();
  /** The ids of lost messages about which the agent was not told yet. */
  #untold: string[] = [];

  /** Adds a message that was handed over. One that the agent had and lost before keeps its marks. */
  add(arrival: Arrival): GroupCheckout {
    const { seq } = arrival;
    const known = this.#bySeq.get(seq);
    const checkout: GroupCheckout = { ...checkedOutOf(arrival, known), session: known?.session };
    this.#bySeq.delete(seq);
    this.#bySeq.set(seq, checkout);
    return checkout;
  }

  /** Returns the messages that the agent holds, in order. Messages that were held too long count as lost. `now` is monotonic. */
  live(now: number): GroupCheckout[] {
    const live = [...this.#bySeq.values()].filter(({ isLive }) => isLive);
    const isOver = ({ shownAt = 0, receivedAt }: GroupCheckout): boolean =>
      now - Math.max(shownAt, receivedAt) >= checkoutMs;
    this.lose(live.filter(isOver));
    return live.filter(({ isLive }) => isLive).sort((a, b) => a.seq - b.seq);
  }

  /** Returns the messages that no read has returned since they came. */
  fresh(now: number): GroupCheckout[] {
    return this.live(now).filter(({ shownAt = 0, receivedAt }) => shownAt < receivedAt);
  }

  /** Returns the messages that were returned by reads up to this one, also those that were lost. */
  shownUpTo(read: number): GroupCheckout[] {
    return [...this.#bySeq.values()].filter(({ shownBy }) => shownBy !== undefined && shownBy <= read);
  }

  /** Returns the messages with an id that a read has returned, also those that were lost. */
  withId(id: string, from?: string): GroupCheckout[] {
    return [...this.#bySeq.values()].filter(
      ({ message, shownBy }) =>
        message.id === id && shownBy !== undefined && (from === undefined || message.from.agent === from),
    );
  }

  /** Records that another member may have messages now. Those that no read has returned are forgotten. */
  lose(checkouts: Iterable<GroupCheckout>): void {
    for (const checkout of checkouts) {
      if (!checkout.isLive) continue;
      checkout.isLive = false;
      if (checkout.shownBy === undefined) this.#bySeq.delete(checkout.seq);
      else this.#untold.push(checkout.message.id);
    }
    const lost = [...this.#bySeq.values()].filter(({ isLive }) => !isLive);
    this.remove(lost.slice(0, Math.max(0, lost.length - maxLost)).map(({ seq }) => seq));
    this.#untold = this.#untold.slice(-maxLost);
  }

  /** Records that another member may have any of the messages now. */
  loseAll(): void {
    this.lose([...this.#bySeq.values()]);
  }

  /** Returns the ids of the messages that were lost since the last call. */
  takeLost(): string[] {
    return this.#untold.splice(0);
  }

  /** Forgets messages that the agent has finished with. */
  remove(seqs: Iterable<number>): void {
    for (const seq of seqs) this.#bySeq.delete(seq);
  }

  /** Returns true if a message with this number is held now. */
  has(seq: number): boolean {
    return this.#bySeq.get(seq)?.isLive === true;
  }
}
