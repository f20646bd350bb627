import { isSubInbox, replyIdOf, type Undeliverable } from '@signalbox/protocol';
import type { NewMessage, Outcome } from '@signalbox/store';
import { sentByBroker } from '../broker-sender.ts';
import type { CommitQueue } from '../commits/commit-queue.ts';
import type { InFlightMessage } from '../leases/lease.ts';
import { isAnswer, isRequest, type MessageHeader } from '../message-header.ts';
import type { Meter } from '../meter.ts';
import type { Tail, TailMessage } from '../tail.ts';
import type { WaitingRequests } from './waiting-requests.ts';

/** The longest reason that is stored, in characters. */
const maxReasonLength = 500;

/** The reason why a message is given up: its outcome, and the text for the sender of a request. */
export interface GiveUpReason {
  outcome: Exclude<Outcome, 'acked'>;
  /** The reason in the notice to the sender of a request. */
  reason: Undeliverable['reason'];
  /** A text for people. */
  detail?: string;
}

/** The reason of a request whose lifetime is over. */
const expiredRequest: GiveUpReason = { outcome: 'expired', reason: 'expired' };
/** The reason of any other message whose lifetime is over. It becomes a dead letter, since nobody waits for an answer to it. */
const expiredMessage: GiveUpReason = { outcome: 'dead', reason: 'expired', detail: 'expired' };

/** The reason of an answer whose lifetime is over. It outlives its request, so nobody waits for it. */
const expiredAnswer: GiveUpReason = {
  outcome: 'expired',
  reason: 'expired',
  detail: 'nobody waited for this answer',
};

/** The reason of a message whose body was damaged on the disk. */
export const damaged: GiveUpReason = {
  outcome: 'dead',
  reason: 'damaged',
  detail: 'damaged: its body could not be read from the disk',
};

/** The dependencies of the {@link Settler}. */
export interface SettlerDeps {
  commits: CommitQueue;
  /** Called when a message is given up or cancelled, whether or not a consumer has it. */
  onEnded: (inbox: string, seq: number) => void;
  waiting: WaitingRequests;
  /** Tells whether it is known here that no broker has handed a message out. `undefined` if there is only one broker. */
  isKnownNotHandedOut: ((inbox: string, seq: number) => boolean) | undefined;
  tail: Tail;
  meter: Meter;
  now: () => number;
}

/** Settles messages and reports that to the tail. If a request is given up, the same commit stores a notice to its sender. */
export class Settler {
  readonly #deps: SettlerDeps;

  constructor(deps: SettlerDeps) {
    this.#deps = deps;
  }

  /** Settles a message that its consumer acked. */
  ack(seq: number, message: InFlightMessage): void {
    this.#deps.commits.settle({ inbox: message.inbox, seq, outcome: 'acked' });
    this.ackedByReply(seq, message);
  }

  /** Settles a message to a configured sender, which reads nothing, as if it had been read. */
  discard(seq: number, message: MessageHeader): void {
    this.ackUnheld(seq, message, 'its recipient reads nothing');
  }

  /** Settles a message that no consumer has as `acked`. */
  ackUnheld(seq: number, message: MessageHeader, reason?: string): void {
    const { commits, tail, meter } = this.#deps;
    commits.settle({
      inbox: message.inbox,
      seq,
      outcome: 'acked',
      ...(reason !== undefined && { reason }),
    });
    meter.settled(message.kind, 'acked');
    if (tail.isOn) tail.report({ what: 'settled', outcome: 'acked' }, seq, message);
  }

  /** Reports a message that was acked by the commit that stored its reply. */
  ackedByReply(seq: number, message: MessageHeader & Partial<Pick<InFlightMessage, 'ended'>>): void {
    const { tail, meter } = this.#deps;
    if (message.ended) return;
    meter.settled(message.kind, 'acked');
    if (tail.isOn) tail.report({ what: 'settled', outcome: 'acked' }, seq, message);
  }

  /**
   * Settles a message whose lifetime is over. The sender of a request gets a notice. Any other message becomes a dead letter, except
   * for a notice that its recipient never read, and for an answer of which one client only had use.
   */
  expire(seq: number, message: MessageHeader): void {
    const isAnswered = isRequest(message.kind) || message.kind === 'undeliverable';
    if (isAnswered) this.giveUp(seq, message, expiredRequest);
    else this.giveUp(seq, message, isForOneClient(message) ? expiredAnswer : expiredMessage);
  }

  /**
   * Settles a message that no consumer will handle any more. An answer of which one client only had use becomes no dead letter, unless it
   * is damaged: nobody could do anything with it.
   */
  giveUp(seq: number, message: MessageHeader, { reason, detail, ...given }: GiveUpReason): void {
    const { commits, onEnded, waiting, isKnownNotHandedOut, tail, meter, now } = this.#deps;
    const isUseless = given.outcome === 'dead' && reason === 'dead' && isForOneClient(message);
    const outcome = isUseless ? 'expired' : given.outcome;
    const waited = waiting.remove(seq);
    const kept = detail?.slice(0, maxReasonLength);
    const { copyOf, inbox } = message;
    const told = copyOf === undefined ? kept : `'${inbox}' of '${copyOf}': ${kept ?? reason}`;
    // If there are several brokers, the store knows which messages the others have handed out.
    const mayHaveRun = isKnownNotHandedOut ? true : (waited?.wasPushed ?? true);
    const why = { reason, may_have_run: mayHaveRun, ...(told !== undefined && { detail: told }) };
    commits.settle({
      inbox: message.inbox,
      seq,
      outcome,
      ...(kept !== undefined && { reason: kept }),
      ...(isRequest(message.kind) && { notice: undeliverableNotice({ ...message, seq }, why, now()) }),
      ...(isKnownNotHandedOut && {
        ifNotHandedOut: {
          body: JSON.stringify({ ...why, may_have_run: false }),
          isKnown: isKnownNotHandedOut(inbox, seq),
        },
      }),
    });
    meter.settled(message.kind, outcome);
    if (outcome === 'dead') meter.died(reason);
    if (tail.isOn) tail.report({ what: 'settled', outcome, reason: kept }, seq, message);
    onEnded(message.inbox, seq);
  }

  /**
   * Settles a message that its sender cancelled. The sender gets no notice. If another broker has the message, that broker is told instead.
   */
  cancel(seq: number, message: TailMessage): void {
    const { commits, onEnded, waiting, tail, meter } = this.#deps;
    waiting.remove(seq);
    commits.settle({ inbox: message.inbox, seq, outcome: 'cancelled', orMark: true });
    meter.settled(message.kind, 'cancelled');
    if (tail.isOn) tail.report({ what: 'settled', outcome: 'cancelled' }, seq, message);
    onEnded(message.inbox, seq);
  }
}

/** Tells whether a message is an answer in a sub-inbox, which is of use to the client alone that asked there. */
function isForOneClient({ kind, inbox }: MessageHeader): boolean {
  return isAnswer(kind) && isSubInbox(inbox);
}

/** The shortest lifetime of a notice. A longer lifetime is that of its request, counted from the notice on. */
const minLifetimeMs = 5 * 60_000;

/**
 * Makes the notice that the sender of a request gets in place of the reply. It has the id of the reply, so that only one of them is
 * stored.
 */
function undeliverableNotice(
  request: MessageHeader & { seq: number },
  why: Undeliverable,
  now: number,
): NewMessage {
  // Each copy of a request to all members of a group has its own reply, and its own notice.
  const id = request.copyOf === undefined ? request.id : `copy-${request.seq}`;
  return {
    inbox: request.from.address,
    id: replyIdOf(id),
    ...sentByBroker,
    kind: 'undeliverable',
    correlationId: request.id,
    thread: request.thread,
    createdAt: now,
    expiresAt: now + Math.max(minLifetimeMs, request.expiresAt - request.createdAt),
    body: JSON.stringify(why),
  };
}
