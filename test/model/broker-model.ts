import { deepStrictEqual } from 'node:assert/strict';
import type { WireFrame } from '@signalbox/testing';
import type { BrokerOp, SenderName } from './broker-ops.ts';

/** Lifetime of a message that is `brief`, in milliseconds. */
export const briefMs = 20_000;
const tombstoneMs = 60_000;
/** The time after its deadline in which an acked request can be answered, in milliseconds. */
const answerGraceMs = 5 * 60_000;
const maxTries = 5;

/** The state of one message with a receipt according to the contract. */
export interface ModelMessage {
  sender: SenderName;
  id: string;
  kind: 'ask' | 'note';
  body: string;
  expiresAt: number;
  attempts: number;
  /** Once it was pushed. */
  seq?: number;
  settled: boolean;
  /** Settled by something that has no answer, and so perhaps not on disk yet. */
  unconfirmed: boolean;
  /** Its sender gave up while it was in flight: it goes with the lease. */
  cancelled: boolean;
  /** Its sender was told that there will be no reply, or does not want one. */
  over: boolean;
  /** It was settled when its lifetime was over: as acked or as expired. */
  late: boolean;
  /** The id of its reply. */
  /** Its deadline lies in a leap of the clock: nobody is given it any more. */
  inLeap?: boolean;
  replyId?: string;
}

export type Answer = 'delivered' | 'duplicate' | 'id_conflict' | 'already_answered';

/** The messages of one inbox and its lease, as far as the contract fixes them. */
export class BrokerModel {
  readonly messages = new Map<string, ModelMessage>();
  readonly inFlight = new Set<ModelMessage>();
  window = 0;
  now = 1_700_000_000_000;
  readonly #tombstones = new Map<string, number>();
  /** The highest number of each sender that this lease was pushed for the first time. */
  #lastFirst = new Map<string, number>();

  get(sender: string, id: string): ModelMessage | undefined {
    return this.messages.get(`${sender} ${id}`);
  }

  /** Every answer that is right for this message; the model takes it in if it is new. */
  deliver({ sender, id, kind, body, brief }: Extract<BrokerOp, { op: 'deliver' }>): Answer[] {
    const there = this.get(sender, id);
    if (there) {
      if (there.kind === kind && there.body === body) return ['duplicate'];
      if (there.settled) return there.unconfirmed ? ['id_conflict', 'duplicate'] : ['duplicate'];
      // Past its lifetime it may have ended by now, with any holder.
      return there.expiresAt > this.now ? ['id_conflict'] : ['id_conflict', 'duplicate'];
    }
    const name = `${sender} ${id}`;
    const settled = (this.#tombstones.get(name) ?? 0) > this.now;
    this.#tombstones.delete(name);
    const expiresAt = this.now + (brief ? briefMs : 1e9);
    const fresh = { attempts: 0, unconfirmed: settled, cancelled: false, over: settled, late: false };
    this.messages.set(name, { sender, id, kind, body, expiresAt, settled, ...fresh });
    return ['delivered'];
  }

  /** Takes in what the lease was pushed; throws if the contract forbids it. */
  pushed(frame: WireFrame): ModelMessage {
    const { agent } = frame.from as { agent: string };
    const seq = frame.seq as number;
    const name = `${agent} ${frame.id}`;
    const message = this.messages.get(name);
    if (!message) throw new Error(`${name} was never delivered`);
    if (message.settled) throw new Error(`${name} was settled and is handed out again`);
    if (message.seq !== undefined && message.seq !== seq) throw new Error(`${name} is stored twice`);
    if (this.inFlight.has(message)) throw new Error(`${name} is pushed twice to one lease`);
    deepStrictEqual([frame.kind, frame.body], [message.kind, message.body]);
    deepStrictEqual(frame.attempt, message.attempts === 0 ? undefined : message.attempts + 1);
    if (message.attempts === 0) {
      if (seq <= (this.#lastFirst.get(agent) ?? 0)) throw new Error(`${name} is out of order`);
      this.#lastFirst.set(agent, seq);
    }
    message.seq = seq;
    this.inFlight.add(message);
    return message;
  }

  /** Un-settled and in its time, or in the hands of the lease: the contract owes it to somebody. */
  isHandedOut(message: ModelMessage): boolean {
    if (message.settled) return false;
    return this.inFlight.has(message) || (message.expiresAt > this.now && !message.inLeap);
  }

  /** The wall clock leaps beyond the deadlines of brief messages. Requests among them are held back. */
  leap(): void {
    for (const message of this.messages.values())
      if (message.kind === 'ask' && message.expiresAt - this.now <= briefMs) message.inLeap = true;
  }

  /** Returns the exact number of messages that the holder has to have. */
  owed(): number {
    const handedOut = [...this.messages.values()].filter((message) => this.isHandedOut(message));
    return Math.min(this.window, handedOut.length);
  }

  settle(message: ModelMessage, over = false): void {
    if (!message.settled) {
      message.over = over;
      message.late = message.expiresAt <= this.now;
    }
    message.settled = true;
    this.inFlight.delete(message);
  }

  /** Every answer that is right for a reply with this id. */
  reply(request: ModelMessage, replyId: string): Answer[] {
    const { replyId: stored, settled, over, late, expiresAt } = request;
    if (stored !== undefined) return [stored === replyId ? 'duplicate' : 'already_answered'];
    if (over) return ['already_answered'];
    if (settled && expiresAt + answerGraceMs <= this.now) return ['already_answered'];
    if (late || (!settled && expiresAt <= this.now)) return ['delivered', 'already_answered'];
    return ['delivered'];
  }

  nack(message: ModelMessage): void {
    this.inFlight.delete(message);
    message.attempts++;
    if (message.cancelled || message.attempts >= maxTries) this.settle(message, true);
  }

  /** True if the holder has to be told. */
  cancel(sender: string, id: string): boolean {
    const message = this.get(sender, id);
    if (!message) this.#tombstones.set(`${sender} ${id}`, this.now + tombstoneMs);
    else if (this.inFlight.has(message)) {
      message.cancelled = true;
      return true;
    } else this.#withdraw(message);
    return false;
  }

  #withdraw(message: ModelMessage): void {
    message.unconfirmed ||= !message.settled;
    this.settle(message, true);
  }

  endLease(): void {
    for (const message of this.inFlight) if (message.cancelled) this.#withdraw(message);
    this.inFlight.clear();
    this.#lastFirst.clear();
    this.window = 0;
  }

  /** `waiting` tells which of the cancelled ones the broker still holds: both are right. */
  restart(waiting: ReadonlySet<string>): void {
    for (const message of this.inFlight) {
      if (message.cancelled && !waiting.has(`${message.sender} ${message.id}`)) this.settle(message, true);
      message.cancelled = false;
    }
    this.inFlight.clear();
    this.#lastFirst.clear();
    this.window = 0;
    this.#tombstones.clear();
  }
}
