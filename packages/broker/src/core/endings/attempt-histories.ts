/** The failed attempts of a message in this run. */
export interface AttemptHistory {
  reasons: string[];
  /** The number of times that its holder was lost and came back in time. */
  forgiven: number;
  /** The token of the consumer that tried it last. */
  tokenId: string | undefined;
  /**
   * The last time at which a consumer was lost that had worked on it, whether or not that was a failed attempt, in monotonic milliseconds.
   */
  triedAt: number | undefined;
  /** The trace context of the first of these consumers, as the consumer sent it. */
  firstAttempt: string | undefined;
}

/** The most messages whose failed attempts are remembered. Beyond it, the oldest are forgotten. */
const maxHistories = 10_000;

/** Remembers the failed attempts of messages. A restart of the broker forgets them; the store keeps only their number. */
export class AttemptHistories {
  readonly #bySeq = new Map<number, AttemptHistory>();

  /** Returns the history of a message, which is empty if there was none. */
  of(seq: number): AttemptHistory {
    const known = this.#bySeq.get(seq);
    if (known) return known;
    const history: AttemptHistory = {
      reasons: [],
      forgiven: 0,
      tokenId: undefined,
      triedAt: undefined,
      firstAttempt: undefined,
    };
    this.#bySeq.set(seq, history);
    if (this.#bySeq.size > maxHistories) {
      const oldest = this.#bySeq.keys().next();
      if (!oldest.done) this.#bySeq.delete(oldest.value);
    }
    return history;
  }

  /** Returns the history of a message, if it has one. */
  find(seq: number): Readonly<AttemptHistory> | undefined {
    return this.#bySeq.get(seq);
  }

  /** Returns the sequence numbers of the messages that a consumer with this token was the last to try. */
  triedWith(tokenId: string): Set<number> {
    const found = new Set<number>();
    for (const [seq, history] of this.#bySeq) if (history.tokenId === tokenId) found.add(seq);
    return found;
  }

  /** Forgets a message that was given up. */
  forget(seq: number): void {
    this.#bySeq.delete(seq);
  }
}
