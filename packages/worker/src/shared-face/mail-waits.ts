import { setTimeout as delay } from 'node:timers/promises';
import type { FaceSession } from './face-session.ts';

/** The time between two looks for new mail, in milliseconds. */
const defaultLookEveryMs = 1_500;

/** The result of a wait for new mail. `superseded`: a later wait of the same session replaces it. */
export type MailWaitEnd = { hint: string } | { hint: null; superseded?: true };

type WaitingSession = Pick<FaceSession, 'newMailHint' | 'closed'>;

/** The waits of hooks for new mail. Each session has one at most, so that an agent is woken once. */
export class MailWaits {
  readonly #waits = new Map<WaitingSession, AbortController>();
  readonly #lookEveryMs: number;

  constructor(lookEveryMs = defaultLookEveryMs) {
    this.#lookEveryMs = lookEveryMs;
  }

  /**
   * Resolves with a hint at mail of which the agent was not told yet; returning it counts as telling. Resolves without a hint if the
   * session ends, a later wait begins, or the signal is aborted.
   */
  async next(session: WaitingSession, signal: AbortSignal): Promise<MailWaitEnd> {
    this.#waits.get(session)?.abort();
    const over = new AbortController();
    this.#waits.set(session, over);
    const ending = new AbortController();
    void session.closed.then(() => ending.abort());
    const ended = AbortSignal.any([over.signal, ending.signal, signal]);
    try {
      while (!ended.aborted) {
        const found = await session.newMailHint();
        if (found !== undefined) return { hint: found.hint };
        await delay(this.#lookEveryMs, undefined, { signal: ended }).catch(() => {});
      }
      return over.signal.aborted ? { hint: null, superseded: true } : { hint: null };
    } finally {
      if (this.#waits.get(session) === over) this.#waits.delete(session);
    }
  }
}
