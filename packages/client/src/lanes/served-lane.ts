import {
  type LaneCall,
  type LaneFrame,
  type LaneGrantFrame,
  laneLimits,
  type Message,
} from '@signalbox/protocol';
import type { Budget } from '@signalbox/serving';
import type { ReplyEnd } from '../broker-client.ts';
import type { Clock } from '../clock.ts';
import type { LaneSocket } from './lane-socket.ts';
import type { SentReply } from './unread-replies.ts';

/** The requests of one worker on its lane that may be open at a time, and the bytes of their bodies. Beyond them the lane is not read. */
const window = { requests: 256, bytes: 8 * 1024 * 1024 };
/** What may wait unread by a worker before its lane is not read any more, in bytes. */
const maxUnread = 8 * 1024 * 1024;
/** The time after which a lane is ended whose worker does not read, in milliseconds. */
const unreadMs = 10_000;
/**
 * The most replies without an ack of one lane that are kept in memory, and characters of them. Beyond them the oldest ones count as unread,
 * as all do some time after a lane takes no more requests, in milliseconds.
 */
const unacked = { replies: 256, length: 4 * 1024 * 1024, ms: 10_000 };

/** The request runner, as the lanes of an orchestrator see it. */
export interface LaneRunner {
  /** Takes a request. Returns false if it is not taken, and has not begun. */
  acceptFromLane(lane: ServedLane, message: Message, isFirst: boolean): boolean;
  /** The worker withdraws its request. */
  cancelFromLane(lane: ServedLane, id: string, agent: string): void;
  /** A lane has ended. */
  laneEnded(lane: ServedLane): void;
  /** The worker of a lane may call nothing any more. */
  laneForbidden(lane: ServedLane): void;
}

/** The facts about a worker for which the broker vouches. */
export type Vouched = Pick<LaneGrantFrame, 'from' | 'limits'>;

interface ServedLaneDeps {
  address: string;
  clock: Clock;
  runner: LaneRunner;
  rate: Budget;
  takesRequests: () => boolean;
  /** While nobody looks, calls are only counted. */
  isWatched: () => boolean;
  report: (call: LaneCall) => void;
  /** Counts a call that has begun. */
  begun: () => void;
  over: () => void;
}

/** One worker's lane, at the orchestrator. */
export class ServedLane {
  readonly #id: string;
  readonly #socket: LaneSocket;
  readonly #vouched: Vouched;
  readonly #deps: ServedLaneDeps;
  /** The rate of the worker, which all lanes of its agent share. */
  readonly rate: Budget;
  /** The bytes of the requests without a reply. */
  readonly #open = new Map<string, number>();
  #openBytes = 0;
  /** What is to be told of replies that the agent may not have. */
  readonly #unacked = new Map<string, { length: number; settled: (how: ReplyEnd) => void }>();
  #unackedLength = 0;
  #isFinishing = false;
  #isOver = false;
  #isPaused = false;
  /**
   * True if requests have waited unread: their worker may be dead, and another one may have sent them again meanwhile. An ack of a reply that
   * was sent later shows that all of them were read.
   */
  #hasWaited = false;
  /** The request with that reply. */
  #readAfter: string | undefined;
  #cancelUnreadTimer: (() => void) | undefined;
  #cancelEndTimer: (() => void) | undefined;

  constructor(id: string, socket: LaneSocket, vouched: Vouched, deps: ServedLaneDeps) {
    this.#id = id;
    this.#socket = socket;
    this.#vouched = vouched;
    this.#deps = deps;
    this.rate = deps.rate;
  }

  /** Takes no new request. The lane ends when all replies were sent and are acked. */
  finish(): void {
    this.#isFinishing = true;
    this.#endIfIdle();
  }

  /** Ends the lane when what was sent is read. */
  close(): void {
    this.#socket.end();
  }

  /** Ends the lane at once. */
  destroy(): void {
    this.#socket.destroy();
  }

  /** Takes a frame of the worker. */
  receive(frame: LaneFrame, body: string | undefined): void {
    const { runner } = this.#deps;
    switch (frame.type) {
      case 'request':
        this.#request(frame, body);
        break;
      case 'cancel':
        runner.cancelFromLane(this, frame.id, this.#vouched.from.agent);
        break;
      case 'ack':
        for (const id of frame.ids) {
          if (id === this.#readAfter) this.#hasWaited = false;
          this.#settle(id, 'stored');
        }
        this.#endIfIdle();
        break;
      default:
        this.#socket.destroy();
    }
  }

  /** Sends a reply. `settled` is told whether the agent's side has it. */
  reply(id: string, { kind, text, traceparent }: SentReply, settled: (how: ReplyEnd) => void): void {
    if (this.#isOver) {
      settled('waits');
      return;
    }
    this.#awaitAck(id, text.length, settled);
    if (this.#hasWaited && !this.#isPaused) this.#readAfter ??= id;
    this.#socket.send({ type: 'reply', id, kind, ...(traceparent !== undefined && { traceparent }) }, text);
    const { isWatched, report } = this.#deps;
    if (isWatched()) {
      const bytes = this.#open.get(id) ?? 0;
      report({ lane: this.#id, id, bytes, reply_bytes: Buffer.byteLength(text) });
    }
    this.#ended(id);
    this.#boundUnread();
  }

  /** Sends progress of a request. */
  progress(id: string, text: string): void {
    if (this.#socket.unread < maxUnread) this.#socket.send({ type: 'progress', id }, text);
  }

  /** Ends a request that has not begun, because its worker may not make it any more. */
  forbid(id: string): void {
    this.#socket.send({ type: 'undeliverable', id, reason: 'forbidden' });
    this.#awaitAck(id, 0, () => {});
    this.#ended(id);
  }

  /** Leaves a request to the broker. */
  useBroker(id: string, { maybeBegun = false }: { maybeBegun?: boolean } = {}): void {
    this.#socket.send({ type: 'use_broker', id, ...(maybeBegun && { maybe_begun: true }) });
    this.#ended(id);
    this.#boundUnread();
  }

  /** Notes that the worker has read what was sent. */
  drained(): void {
    this.#cancelUnreadTimer?.();
    this.#cancelUnreadTimer = undefined;
    this.#readOn();
  }

  /** Notes that the connection is over. */
  over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelUnreadTimer?.();
    this.#cancelEndTimer?.();
    this.#deps.over();
    for (const id of [...this.#unacked.keys()]) this.#settle(id, 'waits');
    this.#deps.runner.laneEnded(this);
  }

  #request(
    { id, kind, remaining_ms, first, thread, traceparent }: Extract<LaneFrame, { type: 'request' }>,
    body: string | undefined,
  ): void {
    const { address, clock, runner, takesRequests } = this.#deps;
    const bytes = Buffer.byteLength(body ?? '');
    if (body === undefined || bytes > laneLimits.requestBytes) {
      this.#socket.destroy();
      return;
    }
    if (this.#open.has(id)) {
      // The first one was cancelled, and has not ended.
      this.#socket.send({ type: 'use_broker', id });
      return;
    }
    this.#open.set(id, bytes);
    this.#openBytes += bytes;
    this.rate.spend(1);
    const { from, limits } = this.#vouched;
    const message: Message = {
      ...{ id, from, to: address, kind, created_at: Date.now(), body },
      remaining_ms: Math.min(remaining_ms, limits.ttl_ms),
      ...(thread !== undefined && { thread }),
      ...(traceparent !== undefined && { traceparent }),
    };
    const mayTake = !this.#isFinishing && takesRequests() && bytes <= limits.bytes;
    const isFirst = first === true && !this.#hasWaited;
    if (mayTake && runner.acceptFromLane(this, message, isFirst)) this.#reportBegun(id, bytes, thread);
    else this.useBroker(id);
    const waitMs = this.rate.isOverdrawn ? this.rate.waitMs(clock.now()) : 0;
    if (waitMs > 0) clock.startTimer(() => this.#readOn(), waitMs);
    if (waitMs > 0 || this.#isFull) this.#pause();
  }

  #reportBegun(id: string, bytes: number, thread: string | undefined): void {
    const { begun, isWatched, report } = this.#deps;
    begun();
    if (isWatched()) report({ lane: this.#id, id, bytes, ...(thread !== undefined && { thread }) });
  }

  get #isFull(): boolean {
    return this.#open.size >= window.requests || this.#openBytes >= window.bytes;
  }

  #ended(id: string): void {
    this.#openBytes -= this.#open.get(id) ?? 0;
    this.#open.delete(id);
    this.#readOn();
    this.#endIfIdle();
  }

  #pause(): void {
    this.#isPaused = true;
    this.#hasWaited = true;
    this.#readAfter = undefined;
    this.#socket.pause();
  }

  #readOn(): void {
    if (!this.#isPaused || this.#isFull || this.#socket.unread > maxUnread) return;
    if (this.rate.isOverdrawn && this.rate.waitMs(this.#deps.clock.now()) > 0) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  /** Ends the lane if its worker has not read for a while what was sent. */
  #boundUnread(): void {
    if (this.#socket.unread <= maxUnread || this.#cancelUnreadTimer) return;
    this.#pause();
    this.#cancelUnreadTimer = this.#deps.clock.startTimer(() => {
      this.#cancelUnreadTimer = undefined;
      if (this.#socket.unread > maxUnread) this.#socket.destroy();
      else this.#readOn();
    }, unreadMs);
  }

  #awaitAck(id: string, length: number, settled: (how: ReplyEnd) => void): void {
    this.#settle(id, 'waits');
    this.#unacked.set(id, { length, settled });
    this.#unackedLength += length;
    for (const oldest of this.#unacked.keys()) {
      if (this.#unacked.size <= unacked.replies && this.#unackedLength <= unacked.length) break;
      if (oldest !== id) this.#settle(oldest, 'waits');
    }
  }

  #settle(id: string, how: ReplyEnd): void {
    const one = this.#unacked.get(id);
    if (!one) return;
    this.#unacked.delete(id);
    this.#unackedLength -= one.length;
    one.settled(how);
  }

  #endIfIdle(): void {
    if (!this.#isFinishing || this.#open.size > 0) return;
    if (this.#unacked.size === 0) this.#socket.end();
    else this.#cancelEndTimer ??= this.#deps.clock.startTimer(() => this.#socket.end(), unacked.ms);
  }
}
