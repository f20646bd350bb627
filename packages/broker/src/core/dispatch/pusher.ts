import type { MessageFrame, Sender } from '@signalbox/protocol';
import type { Fault } from '@signalbox/serving';
import { type NewMessage, presentFor, type StoredMessage } from '@signalbox/store';
import type { CommitQueue } from '../commits/commit-queue.ts';
import type { AttemptHistories } from '../endings/attempt-histories.ts';
import type { InFlightMessage, Lease } from '../leases/lease.ts';
import { headerOf, isAnswer, isRequest } from '../message-header.ts';
import type { Meter } from '../meter.ts';
import { damaged, type Settler } from '../settling/settler.ts';
import type { WaitingRequests } from '../settling/waiting-requests.ts';
import type { Tail } from '../tail.ts';
import type { ExpiryClock } from '../time/expiry-clock.ts';
import type { HeldBack } from './held-back.ts';

/** The dependencies of the {@link Pusher}. */
export interface PusherDeps {
  commits: CommitQueue;
  settler: Settler;
  waiting: WaitingRequests;
  time: ExpiryClock;
  histories: AttemptHistories;
  heldBack: HeldBack;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
  fault: Fault | undefined;
  tail: Tail;
  meter: Meter;
}

/** The result of pushing a message. It is `over` if it is no longer pending, and may be `held_back` during a leap or a hold. */
export type Pushed = 'pushed' | 'over' | 'held_back';

/** Pushes messages to consumers, unless they are over. */
export class Pusher {
  readonly #deps: PusherDeps;

  constructor(deps: PusherDeps) {
    this.#deps = deps;
  }

  /** Tells whether a message that was read may be pushed. A damaged one is given up, and one that is marked as cancelled is settled. */
  mayPush(stored: StoredMessage): boolean {
    if (!stored.damaged && !stored.cancelled) return true;
    const { commits, settler } = this.#deps;
    if (commits.isSettling(stored.seq)) return false;
    if (stored.cancelled) settler.cancel(stored.seq, headerOf(stored));
    else settler.giveUp(stored.seq, headerOf(stored), damaged);
    return false;
  }

  /** Acks a message that was read, if its reply is stored already. Returns true if it is. */
  ackIfAnswered({ seq, answered, ...stored }: StoredMessage): boolean {
    if (!answered) return false;
    const { commits, settler, waiting } = this.#deps;
    waiting.remove(seq);
    if (!commits.isSettling(seq)) settler.ackUnheld(seq, headerOf({ seq, ...stored }));
    return true;
  }

  /** Pushes a message that was read. */
  pushStored(lease: Lease, stored: StoredMessage): Pushed {
    const from = { agent: stored.sender, address: stored.senderAddress, role: stored.senderRole };
    const renewedAt = this.#deps.time.lookedAt;
    const message = inFlight(stored, from, stored.size, stored.attempts, renewedAt);
    if (stored.group?.copyOf !== undefined) message.copyOf = stored.group.copyOf;
    return this.push(lease, stored.seq, message, stored, this.#earlierTry(stored.seq));
  }

  /**
   * Pushes a message. `content` holds the parts of it that are not kept afterwards, and `earlierTry` the facts about the consumers that
   * worked on it before.
   */
  push(
    lease: Lease,
    seq: number,
    message: InFlightMessage,
    content: Content,
    earlierTry?: EarlierTry,
  ): Pushed {
    const { commits, settler, waiting, time, heldBack, fault, tail, meter } = this.#deps;
    if (commits.isSettling(seq)) return 'over';
    const remainingMs = message.expiresAt - presentFor(message.createdAt, time);
    if (remainingMs <= 0) {
      settler.expire(seq, message);
      return 'over';
    }
    if (lease.isOnHold && !isAnswer(message.kind)) {
      this.#holdBack(lease, seq, message);
      return 'held_back';
    }
    if (isRequest(message.kind)) {
      if (time.isInLeap(message.expiresAt)) {
        heldBack.add(lease.address, seq);
        return 'held_back';
      }
      waiting.remove(seq);
    }
    fault?.('broker.push.before');
    lease.hold(seq, message);
    const frame = messageFrame(seq, message, content.traceparent, remainingMs);
    if (earlierTry) Object.assign(frame, earlierTry);
    if (content.group !== undefined) {
      frame.group_key = content.group.key;
      frame.group = content.group.copyOf;
    }
    lease.consumer.push(frame, content.body);
    meter.pushed(message.kind, message.attempts);
    if (tail.isOn) tail.report({ what: 'delivered', attempt: message.attempts + 1 }, seq, message);
    return 'pushed';
  }

  /** Keeps a message back from an agent that an operator holds. A request still ends on time. */
  #holdBack(lease: Lease, seq: number, { inbox, kind, createdAt, expiresAt }: InFlightMessage): void {
    const { waiting, time } = this.#deps;
    lease.heldBack.push(seq);
    if (isRequest(kind)) waiting.add({ inbox, seq, createdAt, expiresAt, wasPushed: false }, time.now());
  }

  #earlierTry(seq: number): EarlierTry | undefined {
    const { histories, monotonic } = this.#deps;
    const history = histories.find(seq);
    if (history?.triedAt === undefined) return undefined;
    const sinceMs = Math.max(0, Math.round(monotonic() - history.triedAt));
    return { since_tried_ms: sinceMs, first_attempt: history.firstAttempt };
  }
}

type EarlierTry = Pick<MessageFrame, 'since_tried_ms' | 'first_attempt'>;

type Content = Pick<NewMessage, 'traceparent' | 'group' | 'body'>;

/** Makes the record of a message that is pushed to a consumer. */
export function inFlight(
  message: NewMessage | StoredMessage,
  from: Sender,
  size: number,
  attempts: number,
  renewedAt: number,
): InFlightMessage {
  return {
    inbox: message.inbox,
    id: message.id,
    from,
    kind: message.kind,
    correlationId: message.correlationId,
    thread: message.thread,
    createdAt: message.createdAt,
    expiresAt: message.expiresAt,
    size,
    attempts,
    renewedAt,
    working: false,
    attemptTrace: undefined,
    cancelled: false,
    ended: false,
  };
}

function messageFrame(
  seq: number,
  message: InFlightMessage,
  traceparent: string | undefined,
  remainingMs: number,
): MessageFrame {
  return {
    type: 'message',
    id: message.id,
    seq,
    from: message.from,
    to: message.inbox,
    kind: message.kind,
    correlation_id: message.correlationId,
    thread: message.thread,
    created_at: message.createdAt,
    remaining_ms: Math.ceil(remainingMs),
    attempt: message.attempts > 0 ? message.attempts + 1 : undefined,
    traceparent,
  };
}
