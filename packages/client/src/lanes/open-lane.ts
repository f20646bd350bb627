import { connect } from 'node:net';
import {
  type DeliverFrame,
  frameDefaults,
  type LaneFrame,
  type Message,
  replyIdOf,
} from '@signalbox/protocol';
import type { Clock } from '../clock.ts';
import { LaneSocket } from './lane-socket.ts';

/** The most characters of one frame of an orchestrator: the longest message of any broker, and its header. */
const maxLength = 64 * 1024 * 1024;

/**
 * An ack waits for the next request, which takes it along: an ack of its own wakes the orchestrator in the moment in which the agent, its
 * worker and the orchestrator want to run for the next call. It waits at most this time, in milliseconds, while at most so many replies and
 * characters of them wait.
 */
const acksWait = { ms: 10, replies: 64, length: 64 * 1024 };

/** The sender of what the broker itself would say. */
const broker = { agent: 'broker', address: 'broker', role: 'broker' };

/** The part of a client that takes what comes on its lane. */
export interface LaneReceiver {
  /** Called with a reply or with progress. */
  received(message: Message, lane: OpenLane): void;
  /** Called if the orchestrator has not begun a request, and does not. */
  notBegun(id: string, lane: OpenLane): void;
  /** Called when a lane ends while requests have no reply. `epoch` is that of the journal in which they may have been started. */
  lost(ids: readonly string[], lane: OpenLane, epoch: string | undefined): void;
}

interface OpenLaneOptions {
  orchestrator: string;
  address: string;
  id: string;
  path: string;
  ticket: string;
  proof: string;
  clock: Pick<Clock, 'startTimer'>;
  receiver: () => LaneReceiver;
  opened: () => void;
  over: () => void;
}

/** An open connection to an orchestrator, and the requests on it that have no reply. */
export class OpenLane {
  readonly orchestrator: string;
  readonly #options: OpenLaneOptions;
  readonly #socket: LaneSocket;
  readonly #waiting = new Set<string>();
  /** Replies that were received, and that the agent does not have yet. */
  #unacked = 0;
  /** Replies that the agent has, and of which the orchestrator was not told. */
  #acks: string[] = [];
  #lengthToAck = 0;
  #isAckTimerSet = false;
  #epoch: string | undefined;
  #isOpen = false;
  #isFinishing = false;

  constructor(options: OpenLaneOptions) {
    this.orchestrator = options.orchestrator;
    this.#options = options;
    const socket = connect(options.path);
    this.#socket = new LaneSocket({
      socket,
      maxLength,
      receive: (frame, body) => this.#receive(frame, body),
      over: () => this.#over(),
    });
    this.#socket.send({ type: 'lane', lane: options.id, secret: options.ticket });
  }

  /** The epoch of the orchestrator's journal, if it has one. */
  get epoch(): string | undefined {
    return this.#epoch;
  }

  /** What the orchestrator has not read. */
  get unread(): number {
    return this.#socket.unread;
  }

  /** Sends a request with a lifetime in milliseconds. `isFirst`: none with its id was ever sent. */
  request(
    { id, kind, thread, traceparent }: DeliverFrame,
    body: string,
    { remainingMs, isFirst }: { remainingMs: number; isFirst: boolean },
  ): void {
    this.#waiting.add(id);
    this.#sendAcks();
    this.#socket.send(
      {
        ...{ type: 'request', id, kind, remaining_ms: Math.min(frameDefaults.ttlMs, Math.ceil(remainingMs)) },
        ...(isFirst && { first: true }),
        ...(thread !== undefined && { thread }),
        ...(traceparent !== undefined && { traceparent }),
      },
      body,
    );
  }

  /** Cancels a request. Its reply may still come. */
  cancel(id: string): void {
    this.#socket.send({ type: 'cancel', id });
  }

  /** Says that the agent has the reply to a request. */
  ack(id: string): void {
    this.#unacked--;
    this.#acks.push(id);
    if (this.#acks.length >= acksWait.replies || this.#lengthToAck > acksWait.length) this.#sendAcks();
    else if (!this.#isAckTimerSet) {
      this.#isAckTimerSet = true;
      this.#options.clock.startTimer(() => {
        this.#isAckTimerSet = false;
        this.#sendAcks();
      }, acksWait.ms);
    }
    this.#endIfIdle();
  }

  /** Takes no new request. The lane ends when all replies have come and are acked. */
  finish(): void {
    this.#isFinishing = true;
    this.#endIfIdle();
  }

  /** Ends the lane at once. */
  close(): void {
    // Nothing has been asked of an orchestrator that has not answered, and it might never read the end.
    if (this.#isOpen) this.#end();
    else this.#socket.destroy();
  }

  #sendAcks(): void {
    if (this.#acks.length === 0) return;
    this.#socket.send({ type: 'ack', ids: this.#acks });
    this.#acks = [];
    this.#lengthToAck = 0;
  }

  #end(): void {
    this.#sendAcks();
    this.#socket.end();
  }

  #receive(frame: LaneFrame, body: string | undefined): void {
    const { id, proof, opened, receiver } = this.#options;
    if (!this.#isOpen) {
      // Whoever listens there must know what only the orchestrator was told.
      if (frame.type !== 'lane' || frame.lane !== id || frame.secret !== proof) {
        this.#socket.destroy();
        return;
      }
      this.#isOpen = true;
      this.#epoch = frame.epoch;
      opened();
      return;
    }
    switch (frame.type) {
      case 'reply':
        if (!this.#waiting.delete(frame.id)) return;
        this.#unacked++;
        this.#lengthToAck += body?.length ?? 0;
        receiver().received(
          {
            ...this.#message(frame.id, frame.kind, body, replyIdOf(frame.id)),
            ...(frame.traceparent !== undefined && { traceparent: frame.traceparent }),
          },
          this,
        );
        break;
      case 'progress':
        receiver().received(this.#message(frame.id, 'progress', body, frame.id), this);
        break;
      case 'undeliverable': {
        if (!this.#waiting.delete(frame.id)) return;
        this.#unacked++;
        const body = JSON.stringify({ reason: frame.reason, may_have_run: false });
        receiver().received({ ...this.#message(frame.id, frame.type, body, frame.id), from: broker }, this);
        break;
      }
      case 'use_broker':
        if (!this.#waiting.delete(frame.id)) return;
        if (frame.maybe_begun) receiver().lost([frame.id], this, this.#epoch);
        else receiver().notBegun(frame.id, this);
        break;
      default:
        this.#socket.destroy();
    }
    this.#endIfIdle();
  }

  #message(requestId: string, kind: string, body: string | undefined, id: string): Message {
    const { orchestrator, address } = this.#options;
    return {
      id,
      from: { agent: orchestrator, address: orchestrator, role: 'orchestrator' },
      ...{ to: address, kind, correlation_id: requestId, created_at: Date.now() },
      ...(body !== undefined && { body }),
    };
  }

  #endIfIdle(): void {
    if (this.#isFinishing && this.#waiting.size === 0 && this.#unacked === 0) this.#end();
  }

  #over(): void {
    const ids = [...this.#waiting];
    this.#waiting.clear();
    this.#options.over();
    if (ids.length > 0) this.#options.receiver().lost(ids, this, this.#epoch);
  }
}
