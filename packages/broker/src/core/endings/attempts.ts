import { hasExpired } from '@signalbox/store';
import type { CommitQueue } from '../commits/commit-queue.ts';
import type { Redeliveries } from '../dispatch/redeliveries.ts';
import type { InFlightMessage, Lease } from '../leases/lease.ts';
import { isRequest } from '../message-header.ts';
import type { Settler } from '../settling/settler.ts';
import type { WaitingRequests } from '../settling/waiting-requests.ts';
import type { ExpiryClock } from '../time/expiry-clock.ts';
import type { AttemptHistories } from './attempt-histories.ts';

/**
 * The time in which the holder of an ended lease may come back without a failed attempt of the messages that it worked on, in milliseconds.
 */
const reconnectGraceMs = 10_000;
/** The number of times that a message may lose its holder without a failed attempt. After that it is suspected to be the cause. */
const maxForgiven = 10;
const lostReason = 'its consumer was lost while working on it';
/** The longest reason of one attempt in the summary of all, in characters. */
const maxReasonLength = 90;

/** The messages that the holder of a lease was working on when it ended. */
export type Unfinished = [seq: number, message: InFlightMessage][];

/** The facts that identify a consumer, if they are known. */
type Holder = Pick<Lease, 'tokenId' | 'consumerId'>;

/** A holder that is away. It may come back until `until`, in monotonic milliseconds. */
interface Absence {
  until: number;
  messages: Unfinished;
  holder: Holder;
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
  histories: AttemptHistories;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
}

/** Counts the failed attempts to handle messages, and gives up messages that failed too often. */
export class Attempts {
  readonly #deps: AttemptsDeps;
  /** The holders of ended leases that may come back, by address. */
  readonly #absences = new Map<string, Absence>();

  constructor(deps: AttemptsDeps) {
    this.#deps = deps;
  }

  /**
   * Takes back a message from its holder; that is an attempt if it `counts`. The message is pushed again after `delayMs`, unless it is `dead`.
   */
  givenBack(
    seq: number,
    message: InFlightMessage,
    { delayMs, ...how }: { holder: Holder; reason: string; delayMs: number; dead: boolean; counts: boolean },
  ): void {
    if (!this.#failed(seq, message, how)) return;
    const { inbox, kind, createdAt, expiresAt } = message;
    const { waiting, redeliveries, time } = this.#deps;
    if (isRequest(kind)) waiting.add({ inbox, seq, createdAt, expiresAt, wasPushed: true }, time.now());
    redeliveries.schedule(inbox, seq, delayMs);
  }

  /**
   * Counts an attempt of each message that a holder worked on when another connection took its inbox over. If that connection belongs to
   * the same consumer, the messages have no failed attempt.
   */
  takenOver(holder: Holder, messages: Unfinished, next: Holder): void {
    if (holder.consumerId !== undefined && holder.consumerId === next.consumerId) {
      this.#forgive(holder, messages);
      return;
    }
    for (const [seq, message] of messages)
      this.#failed(seq, message, { holder, reason: 'the inbox was taken over by another connection' });
  }

  /**
   * Counts an attempt of a message that a lost member of a group worked on. Other members continue with it, so nobody waits for the lost
   * one to come back. Returns true if the message is to be handed out again; otherwise it has been settled.
   */
  memberLost(seq: number, message: InFlightMessage, holder: Holder): boolean {
    return this.#failed(seq, message, { holder, reason: lostReason });
  }

  /** Remembers the messages that the holder of a lease worked on when the lease ended. The holder may still come back. */
  leftUnfinished(address: string, holder: Holder, messages: Unfinished): void {
    const { tokenId, consumerId } = holder;
    const until = this.#deps.monotonic() + reconnectGraceMs;
    this.#absences.set(address, { until, messages, holder: { tokenId, consumerId } });
  }

  /**
   * Notes that an inbox has a holder again. If that is in time, and its `consumerId` does not name another consumer, the messages that were
   * worked on there have no failed attempt.
   */
  cameBack(address: string, { consumerId }: Holder): void {
    const absence = this.#absences.get(address);
    if (!absence) return;
    this.#absences.delete(address);
    const { until, holder, messages } = absence;
    const isAnother = holder.consumerId !== undefined && holder.consumerId !== consumerId;
    if (isAnother || until <= this.#deps.monotonic()) this.#count(absence);
    else this.#forgive(holder, messages);
  }

  /** Counts an attempt of each message that the process with this token worked on when its leases ended: the process does not come back. */
  processEnded(tokenId: string): void {
    for (const [address, absence] of this.#absences) {
      if (absence.holder.tokenId !== tokenId) continue;
      this.#absences.delete(address);
      this.#count(absence);
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

  #count({ holder, messages }: Absence): void {
    for (const [seq, message] of messages) this.#failed(seq, message, { holder, reason: lostReason });
  }

  /** Notes that the holder of messages was lost and came back. After too many times that is a failed attempt. */
  #forgive(holder: Holder, messages: Unfinished): void {
    const reason = 'its consumer was lost again and again';
    for (const [seq, message] of messages) {
      const history = this.#deps.histories.of(seq);
      history.triedAt = message.renewedAt;
      history.firstAttempt ??= message.attemptTrace;
      if (++history.forgiven > maxForgiven) this.#failed(seq, message, { holder, reason });
    }
  }

  /** Counts a failed attempt, if it `counts`. Returns true if the message is to be pushed again; otherwise it has been settled. */
  #failed(
    seq: number,
    message: InFlightMessage,
    {
      holder,
      reason,
      dead = false,
      counts = true,
    }: { holder: Holder; reason: string; dead?: boolean; counts?: boolean },
  ): boolean {
    const { commits, settler, maxDeliver, time, histories } = this.#deps;
    if (message.ended) return false;
    if (message.cancelled) settler.cancel(seq, message);
    else if (hasExpired(message, time.look())) settler.expire(seq, message);
    else {
      const history = histories.of(seq);
      if (counts) history.reasons.push(reason);
      history.tokenId = holder.tokenId;
      history.triedAt = message.renewedAt;
      history.firstAttempt ??= message.attemptTrace;
      if (!dead && !counts) return true;
      const attempts = message.attempts + 1;
      commits.recordAttempts(message.inbox, seq, attempts);
      if (!dead && attempts < maxDeliver) return true;
      const detail = dead ? reason : `tried ${attempts} times: ${summary(history.reasons)}`;
      settler.giveUp(seq, message, { outcome: 'dead', reason: 'dead', detail });
      histories.forget(seq);
    }
    return false;
  }
}

/** Joins the reasons in their order. Equal ones in a row are listed once. */
function summary(reasons: readonly string[]): string {
  return reasons
    .filter((reason, i) => reason !== reasons[i - 1])
    .map((reason) => reason.slice(0, maxReasonLength))
    .join('; ');
}
