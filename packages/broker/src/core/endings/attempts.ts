import { hasExpired } from '@signalbox/store';
import type { CommitQueue } from '../commits/commit-queue.ts';
import type { Redeliveries } from '../dispatch/redeliveries.ts';
import type { InFlightMessage } from '../leases/lease.ts';
import { isRequest } from '../message-header.ts';
import type { Settler } from '../settling/settler.ts';
import type { WaitingRequests } from '../settling/waiting-requests.ts';
import type { ExpiryClock } from '../time/expiry-clock.ts';

/** If the holder of a lease that ended comes back within this time, the messages that it worked on have no failed attempt. */
const reconnectGraceMs = 10_000;
/** How often a message may lose its holder without a failed attempt. After that it is suspected to be the cause. */
const maxForgiven = 10;
/** The most messages whose failed attempts are remembered. Beyond it, the oldest are forgotten. */
const maxHistories = 10_000;
/** The longest reason of one attempt in the summary of all, in characters. */
const maxReasonLength = 90;

/** The failed attempts of a message in this run. */
interface AttemptHistory {
  reasons: string[];
  /** How often its holder was lost and came back in time. */
  forgiven: number;
}

/** The messages that the holder of a lease was working on when it ended. */
export type Unfinished = [seq: number, message: InFlightMessage][];

/** A holder that is away. `until` is the monotonic millisecond until which it may come back. */
interface Absence {
  until: number;
  messages: Unfinished;
}

/** The dependencies of {@link Attempts}. */
export interface AttemptsDeps {
  commits: CommitQueue;
  settler: Settler;
  redeliveries: Redeliveries;
  waiting: WaitingRequests;
  /** The number of failed attempts after which a message becomes a dead letter. */
  maxDeliver: number;
  time: ExpiryClock;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
}

/** Counts the failed attempts to handle messages, and gives up the messages that failed too often. */
export class Attempts {
  readonly #deps: AttemptsDeps;
  readonly #histories = new Map<number, AttemptHistory>();
  /** The holders of ended leases that may come back, by address. */
  readonly #absences = new Map<string, Absence>();

  constructor(deps: AttemptsDeps) {
    this.#deps = deps;
  }

  /** Counts an attempt of a message that a consumer gave back. The message is pushed again after `delayMs`, unless it is `dead`. */
  givenBack(
    seq: number,
    message: InFlightMessage,
    { reason, delayMs, dead }: { reason: string; delayMs: number; dead: boolean },
  ): void {
    if (!this.#failed(seq, message, reason, dead)) return;
    const { inbox, kind, createdAt, expiresAt } = message;
    const { waiting, redeliveries, time } = this.#deps;
    if (isRequest(kind)) waiting.add({ inbox, seq, createdAt, expiresAt, wasPushed: true }, time.now());
    redeliveries.schedule(inbox, seq, delayMs);
  }

  /** Counts an attempt of each message that a holder worked on when another connection took its inbox over. */
  takenOver(messages: Unfinished): void {
    for (const [seq, message] of messages)
      this.#failed(seq, message, 'the inbox was taken over by another connection');
  }

  /** Remembers the messages that the holder of a lease worked on when the lease ended. The holder may still come back. */
  leftUnfinished(address: string, messages: Unfinished): void {
    this.#absences.set(address, { until: this.#deps.monotonic() + reconnectGraceMs, messages });
  }

  /** Returns the sequence numbers of the messages that the holder of an ended lease worked on, while it may still come back. */
  unfinishedAt(address: string): number[] {
    const unfinished = this.#absences.get(address)?.messages ?? [];
    return unfinished.flatMap(([seq, { ended }]) => (ended ? [] : [seq]));
  }

  /** Notes that an inbox has a holder again. If that is in time, the messages that were worked on there have no failed attempt. */
  cameBack(address: string): void {
    const absence = this.#absences.get(address);
    if (!absence) return;
    this.#absences.delete(address);
    if (absence.until <= this.#deps.monotonic()) {
      this.#count(absence);
      return;
    }
    for (const [seq, message] of absence.messages) {
      const history = this.#historyOf(seq);
      if (++history.forgiven > maxForgiven)
        this.#failed(seq, message, 'its consumer was lost again and again');
    }
  }

  /** Counts an attempt of each message whose holder did not come back in time. */
  countOverdue(): void {
    const now = this.#deps.monotonic();
    for (const [address, absence] of this.#absences) {
      if (absence.until > now) continue;
      this.#absences.delete(address);
      this.#count(absence);
    }
  }

  #count(absence: Absence): void {
    for (const [seq, message] of absence.messages) {
      this.#failed(seq, message, 'its consumer was lost while working on it');
    }
  }

  /** Counts a failed attempt. Returns true if the message is to be pushed again; if not, it has been settled. */
  #failed(seq: number, message: InFlightMessage, reason: string, dead = false): boolean {
    const { commits, settler, maxDeliver, time } = this.#deps;
    if (message.ended) return false;
    if (message.cancelled) settler.cancel(seq, message);
    else if (hasExpired(message, time.look())) settler.expire(seq, message);
    else {
      const { reasons } = this.#historyOf(seq);
      reasons.push(reason);
      const attempts = message.attempts + 1;
      commits.recordAttempts(message.inbox, seq, attempts);
      if (!dead && attempts < maxDeliver) return true;
      const detail = dead ? reason : `tried ${attempts} times: ${summary(reasons)}`;
      settler.giveUp(seq, message, { outcome: 'dead', reason: 'dead', detail });
      this.#histories.delete(seq);
    }
    return false;
  }

  #historyOf(seq: number): AttemptHistory {
    const known = this.#histories.get(seq);
    if (known) return known;
    const history = { reasons: [], forgiven: 0 };
    this.#histories.set(seq, history);
    if (this.#histories.size > maxHistories) {
      const oldest = this.#histories.keys().next();
      if (!oldest.done) this.#histories.delete(oldest.value);
    }
    return history;
  }
}

/** Joins the reasons in their order. Equal ones in a row are told once. */
function summary(reasons: readonly string[]): string {
  return reasons
    .filter((reason, i) => reason !== reasons[i - 1])
    .map((reason) => reason.slice(0, maxReasonLength))
    .join('; ');
}
