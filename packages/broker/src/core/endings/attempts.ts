import type { CommitQueue } from '../commits/commit-queue.ts';
import type { Redeliveries } from '../dispatch/redeliveries.ts';
import type { InFlightMessage } from '../leases/lease.ts';
import { isRequest } from '../message-header.ts';
import { expired, type Settler } from '../settling/settler.ts';
import type { WaitingRequests } from '../settling/waiting-requests.ts';

/** The holder of a lease that ended has so long to come back, before what it was working on counts as tried. */
export const comeBackMs = 10_000;
/** So often a message may lose its holder without an attempt. After that it is suspected to be the cause. */
const maxForgiven = 10;
const remembered = 10_000;
const maxReason = 90;

/** The memory of a message that was tried in this run. */
interface TryHistory {
  reasons: string[];
  forgiven: number;
}

/** The messages that the holder of a lease was working on when it ended. */
export type Unfinished = [seq: number, message: InFlightMessage][];

interface Absence {
  until: number;
  messages: Unfinished;
}

export interface AttemptsDeps {
  commits: CommitQueue;
  settler: Settler;
  redeliveries: Redeliveries;
  waiting: WaitingRequests;
  maxDeliver: number;
  now: () => number;
}

/** Counts the tries of messages and ends those that were tried often enough. */
export class Attempts {
  readonly #deps: AttemptsDeps;
  readonly #histories = new Map<number, TryHistory>();
  /** By address: the holders of ended leases that may come back. */
  readonly #absences = new Map<string, Absence>();

  constructor(deps: AttemptsDeps) {
    this.#deps = deps;
  }

  /** A consumer gave a message back, dead or to be offered again after `delayMs`. */
  givenBack(
    seq: number,
    message: InFlightMessage,
    { reason, delayMs, dead }: { reason: string; delayMs: number; dead: boolean },
  ): void {
    if (!this.#failed(seq, message, reason, dead)) return;
    const { inbox, kind, expiresAt } = message;
    const { waiting, redeliveries, now } = this.#deps;
    if (isRequest(kind)) waiting.add({ inbox, seq, expiresAt, wasPushed: true }, now());
    redeliveries.schedule(inbox, seq, delayMs);
  }

  /** Another connection took the inbox from one that was working on these. */
  takenOver(messages: Unfinished): void {
    for (const [seq, message] of messages)
      this.#failed(seq, message, 'the inbox was taken over by another connection');
  }

  /** A lease ended while its holder was working on these. It may come back. */
  leftUnfinished(address: string, messages: Unfinished): void {
    this.#absences.set(address, { until: this.#deps.now() + comeBackMs, messages });
  }

  /** Returns what the holder of an ended lease was working on, while it may still come back. */
  unfinishedAt(address: string): number[] {
    const unfinished = this.#absences.get(address)?.messages ?? [];
    return unfinished.flatMap(([seq, { ended }]) => (ended ? [] : [seq]));
  }

  /** An inbox has a holder again. If that is in time, what was worked on there costs no try. */
  cameBack(address: string): void {
    const absence = this.#absences.get(address);
    if (!absence) return;
    this.#absences.delete(address);
    if (absence.until <= this.#deps.now()) {
      this.#count(absence);
      return;
    }
    for (const [seq, message] of absence.messages) {
      const history = this.#historyOf(seq);
      if (++history.forgiven > maxForgiven)
        this.#failed(seq, message, 'its consumer was lost again and again');
    }
  }

  /** Counts a try for what was left by those that did not come back in time. */
  countOverdue(now: number): void {
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

  /** A try failed. True if the message is to be tried again. */
  #failed(seq: number, message: InFlightMessage, reason: string, dead = false): boolean {
    const { commits, settler, maxDeliver, now } = this.#deps;
    if (message.ended) return false;
    if (message.cancelled) settler.cancel(seq, message);
    else if (message.expiresAt <= now()) settler.giveUp(seq, message, expired);
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

  #historyOf(seq: number): TryHistory {
    const known = this.#histories.get(seq);
    if (known) return known;
    const history = { reasons: [], forgiven: 0 };
    this.#histories.set(seq, history);
    if (this.#histories.size > remembered) {
      const oldest = this.#histories.keys().next();
      if (!oldest.done) this.#histories.delete(oldest.value);
    }
    return history;
  }
}

/** The reasons in their order; the same one in a row is told once. */
function summary(reasons: readonly string[]): string {
  return reasons
    .filter((reason, i) => reason !== reasons[i - 1])
    .map((reason) => reason.slice(0, maxReason))
    .join('; ');
}
