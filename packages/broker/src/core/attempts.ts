import type { CommitQueue } from './commit-queue.ts';
import type { InFlightMessage } from './lease.ts';
import type { Redeliveries } from './redeliveries.ts';
import type { Settler } from './settler.ts';
import { isRequest } from './undeliverable.ts';
import type { WaitingRequests } from './waiting-requests.ts';

/** How long the holder of a lease that ended has to come back, before what it was working on counts as tried. */
export const comeBackMs = 10_000;
/** So often one message outlives its holder's connection without an attempt; then it is suspected to be the cause. */
const maxForgiven = 10;
const remembered = 10_000;
const maxReason = 90;

/** What this run remembers of a message that was tried. */
interface History {
  reasons: string[];
  forgiven: number;
}

interface Pending {
  until: number;
  messages: [seq: number, message: InFlightMessage][];
}

export interface AttemptsPorts {
  commits: CommitQueue;
  settler: Settler;
  redeliveries: Redeliveries;
  waiting: WaitingRequests;
  maxDeliver: number;
  now: () => number;
}

/** Counts the tries of messages and ends those that were tried often enough. */
export class Attempts {
  readonly #ports: AttemptsPorts;
  readonly #histories = new Map<number, History>();
  /** By address: what the holder of an ended lease was working on. */
  readonly #pending = new Map<string, Pending>();

  constructor(ports: AttemptsPorts) {
    this.#ports = ports;
  }

  /** A consumer gave a message back, dead or to be offered again after `delayMs`. */
  givenBack(
    seq: number,
    message: InFlightMessage,
    { reason, delayMs, dead }: { reason: string; delayMs: number; dead: boolean },
  ): void {
    if (!this.#failed(seq, message, reason, dead)) return;
    const { inbox, kind, expiresAt } = message;
    const { waiting, redeliveries, now } = this.#ports;
    if (isRequest(kind)) waiting.add({ inbox, seq, expiresAt, wasPushed: true }, now());
    redeliveries.schedule(inbox, seq, delayMs);
  }

  /** Another connection took the inbox from one that was working on these. */
  takenOver(messages: Pending['messages']): void {
    for (const [seq, message] of messages)
      this.#failed(seq, message, 'the inbox was taken over by another connection');
  }

  /** A lease ended while its holder was working on these; it may come back. */
  left(address: string, messages: Pending['messages']): void {
    this.#pending.set(address, { until: this.#ports.now() + comeBackMs, messages });
  }

  /** What the holder of an ended lease was working on, while it may still come back. */
  leftAt(address: string): number[] {
    const left = this.#pending.get(address)?.messages ?? [];
    return left.flatMap(([seq, { ended }]) => (ended ? [] : [seq]));
  }

  /** Somebody subscribed to an inbox: in time, what was worked on there costs nothing. */
  cameBack(address: string): void {
    const pending = this.#pending.get(address);
    if (!pending) return;
    this.#pending.delete(address);
    if (pending.until <= this.#ports.now()) {
      this.#count(pending);
      return;
    }
    for (const [seq, message] of pending.messages) {
      const history = this.#historyOf(seq);
      if (++history.forgiven > maxForgiven)
        this.#failed(seq, message, 'its consumer was lost again and again');
    }
  }

  /** Counts for those that did not come back in time. */
  tick(now: number): void {
    for (const [address, pending] of this.#pending) {
      if (pending.until > now) continue;
      this.#pending.delete(address);
      this.#count(pending);
    }
  }

  #count(pending: Pending): void {
    for (const [seq, message] of pending.messages) {
      this.#failed(seq, message, 'its consumer was lost while working on it');
    }
  }

  /** True if it is to be tried again. */
  #failed(seq: number, message: InFlightMessage, reason: string, dead = false): boolean {
    const { commits, settler, maxDeliver, now } = this.#ports;
    if (message.ended) return false;
    if (message.cancelled) settler.cancel(seq, message);
    else if (message.expiresAt <= now())
      settler.giveUp(seq, message, { outcome: 'expired', reason: 'expired' });
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

  #historyOf(seq: number): History {
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
