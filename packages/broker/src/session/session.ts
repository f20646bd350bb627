import { setTimeout as pause } from 'node:timers/promises';
import {
  type BrokerFrame,
  type ClientFrame,
  closeCodeOf,
  type ErrorCode,
  type FrameRefusal,
  parseClientFrame,
} from '@signalbox/protocol';
import type { WebSocket } from 'ws';
import type { Caller } from '../frames/caller.ts';
import type { FrameDeps } from '../frames/frame-deps.ts';
import { handleFrame } from '../frames/handlers.ts';
import type { Outcome } from '../frames/outcome.ts';
import { RateLimit } from '../frames/rate-limit.ts';
import { FrameReader } from './frame-reader.ts';
import type { Identity } from './handshake.ts';
import { Outbox } from './outbox.ts';
import type { OutboxFlusher } from './outbox-flusher.ts';
import { type FrameIds, Responder } from './responder.ts';

const MiB = 1024 * 1024;
const pauseBytes = 4 * MiB;
const closeBytes = 24 * MiB;

/** The dependencies that all sessions share. */
export interface SessionDeps extends FrameDeps {
  flusher: OutboxFlusher;
}

/** One authenticated connection. It reads frames, has each handled, and sends the answers. */
export class Session {
  readonly caller: Caller;
  readonly #socket: WebSocket;
  readonly #deps: SessionDeps;
  readonly #outbox: Outbox;
  readonly #reader: FrameReader;
  readonly #responder: Responder;

  constructor(socket: WebSocket, identity: Identity, deps: SessionDeps) {
    const outbox = new Outbox(
      socket,
      { pauseBytes, closeBytes, liveLaneMessages: deps.limits.of(identity.sender.role).liveLane.messages },
      {
        dirty: deps.flusher.add,
        drained: () => {
          deps.delivery.subscriptions.resume(outbox);
          this.#reader.wake();
        },
        overflow: () =>
          this.end('slow_consumer', `more than ${closeBytes / MiB} MiB wait unread on this connection`),
      },
    );
    this.#socket = socket;
    this.#deps = deps;
    this.#outbox = outbox;
    this.#reader = new FrameReader({
      handle: (header, body) => this.#handle(header, body),
      isOpen: () => this.caller.isConnected,
      mayAnswer: () => outbox.writable,
      pause: () => socket.pause(),
      resume: () => socket.resume(),
    });
    this.#responder = new Responder(identity, outbox, deps);
    this.caller = callerOf(identity, outbox, this.#responder, deps);
    deps.connected.add(this.caller, (why) => this.end('unauthorized', why));
  }

  /** False while the other side reads too slowly. */
  get isWritable(): boolean {
    return this.#outbox.writable;
  }

  /** Takes one WebSocket message. Each of its frames is answered on its own. */
  receive(message: string): void {
    this.#reader.receive(message);
  }

  /** Sends a frame ahead of the messages that wait. */
  send(frame: BrokerFrame): void {
    this.#outbox.send(frame);
  }

  /** Refuses a WebSocket message or a frame. The connection stays open. */
  refuse(refusal: FrameRefusal): void {
    this.#responder.refuse(refusal);
  }

  /** Sends an error and closes the connection with the close code of `code`, or 1011. */
  end(code: ErrorCode, message: string): void {
    if (!this.caller.isConnected) return;
    this.#responder.refuse({ code, message });
    this.close(closeCodeOf(code) ?? 1011, code);
  }

  /** Sends the frames that wait, closes the WebSocket, and frees what the connection held. */
  close(code: number, reason: string): void {
    if (!this.caller.isConnected) return;
    this.#outbox.flush();
    this.#socket.close(code, reason);
    // A paused socket would not read the other side's closing handshake.
    this.#socket.resume();
    this.dispose();
  }

  /** Frees what the connection held, because its socket is closed or closing. */
  dispose(): void {
    if (!this.caller.isConnected) return;
    this.caller.isConnected = false;
    const { delivery, connected, followers } = this.#deps;
    delivery.subscriptions.end(this.#outbox);
    connected.remove(this.caller);
    followers.remove(this.#outbox);
  }

  /** Handles one frame. An error refuses the frame and ends neither the connection nor the broker. */
  #handle(header: string, body: string | undefined): Promise<void> | undefined {
    const { frame, refusal } = parseClientFrame(header);
    if (refusal) {
      this.#responder.refuse(refusal);
      return undefined;
    }
    try {
      return this.#conclude(frame, handleFrame(frame, this.caller, this.#deps, body));
    } catch (error) {
      this.#responder.failed(error, idsOf(frame));
      return undefined;
    }
  }

  /** Carries out the outcome of a frame. Returns a promise if later frames must wait. */
  #conclude(frame: ClientFrame, outcome: Outcome | Promise<Outcome>): Promise<void> | undefined {
    if (outcome === undefined) return undefined;
    if (outcome instanceof Promise) return this.#concludeWhenKnown(frame, outcome);
    if ('later' in outcome) {
      void this.#concludeWhenKnown(frame, outcome.later);
      return undefined;
    }
    if ('behindMessages' in outcome) {
      this.#outbox.sendBehindMessages(outcome.answer);
      outcome.afterwards();
      return undefined;
    }
    if ('answer' in outcome) {
      this.#outbox.send(outcome.answer);
      return undefined;
    }
    const { refusal, retryAfterMs, resumeAfterMs } = outcome;
    if (closeCodeOf(refusal.code) !== undefined) this.end(refusal.code, refusal.message);
    else this.#responder.refuse({ ...refusal, ...idsOf(frame) }, retryAfterMs);
    return resumeAfterMs === undefined ? undefined : pause(resumeAfterMs);
  }

  async #concludeWhenKnown(frame: ClientFrame, outcome: Promise<Outcome>): Promise<void> {
    try {
      await this.#conclude(frame, await outcome);
    } catch (error) {
      this.#responder.failed(error, idsOf(frame));
    }
  }
}

function callerOf(
  { token, sender }: Identity,
  consumer: Outbox,
  producer: Responder,
  { policies, limits, monotonic }: SessionDeps,
): Caller {
  const { role } = sender;
  const own = limits.of(role);
  return {
    token,
    sender,
    isOperator: token.permissions.includes('operator'),
    mintsOnly: token.permissions.includes('mint'),
    policy: policies[role],
    limits: own,
    rateLimit: new RateLimit(own.rates.messages, own.rates.messagesBurst, monotonic()),
    consumer,
    producer,
    isConnected: true,
  };
}

function idsOf(frame: ClientFrame): FrameIds {
  return {
    ...('id' in frame && { id: frame.id }),
    ...('request_id' in frame && frame.request_id !== undefined && { request_id: frame.request_id }),
  };
}
