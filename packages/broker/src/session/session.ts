import { setTimeout as pause } from 'node:timers/promises';
import {
  type BrokerFrame,
  type ClientFrame,
  closeCodeOf,
  type ErrorCode,
  type FrameRefusal,
  frameCosts,
  furtherCosts,
  parseClientFrame,
} from '@signalbox/protocol';
import type { WebSocket } from 'ws';
import type { Caller } from '../frames/caller.ts';
import type { FrameDeps } from '../frames/frame-deps.ts';
import { handleFrame } from '../frames/handlers.ts';
import type { Outcome } from '../frames/outcome.ts';
import type { AgentBudget, AgentBudgets } from '../limits/agent-budgets.ts';
import { figure } from '../limits/role-limits.ts';
import { FrameReader } from './frame-reader.ts';
import type { Identity } from './handshake.ts';
import { Outbox } from './outbox.ts';
import type { OutboxFlusher } from './outbox-flusher.ts';
import { type FrameIds, Responder } from './responder.ts';
import type { Turns } from './turns.ts';

const MiB = 1024 * 1024;
const pauseBytes = 4 * MiB;
const closeBytes = 24 * MiB;

/** The dependencies that all sessions share. */
export interface SessionDeps extends FrameDeps {
  flusher: OutboxFlusher;
  budgets: AgentBudgets;
  turns: Turns;
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
      waitMs: () => this.#waitMs(),
      turn: () => deps.turns.current,
      pause: () => socket.pause(),
      resume: () => socket.resume(),
    });
    const budget = deps.budgets.take(identity.token.agent, identity.sender.role);
    this.#responder = new Responder(identity, outbox, budget, deps);
    this.caller = callerOf(identity, { outbox, responder: this.#responder, budget }, deps);
    deps.connected.add(this.caller, (why) => this.end('unauthorized', why));
  }

  /** False while the other side reads too slowly. */
  get isWritable(): boolean {
    return this.#outbox.writable;
  }

  /** True while frames wait because the agent is over its budget. */
  get isHeldUp(): boolean {
    return this.#reader.isHeldUp;
  }

  /** Takes one WebSocket message of so many bytes. Each of its frames is answered on its own. */
  receive(message: string, bytes: number): void {
    const { budget } = this.caller;
    budget.bytes.spend(bytes);
    budget.frames.spend(furtherCosts.webSocketMessage);
    this.#reader.receive(message);
  }

  /** Takes a ping of so many bytes, which the socket has answered. */
  receivePing(bytes: number): void {
    this.caller.budget.frames.spend(furtherCosts.ping);
    this.receive('', bytes);
  }

  /** Sends a frame ahead of the messages that wait. */
  send(frame: BrokerFrame): void {
    this.#outbox.send(frame);
  }

  /** Refuses a WebSocket message of so many bytes. The connection stays open, and what follows may be read later. */
  refuse(refusal: FrameRefusal, bytes: number): void {
    this.#responder.refuse(refusal);
    this.receive('', bytes);
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
    this.caller.budget.connections--;
    const { delivery, connected, followers, backups } = this.#deps;
    delivery.subscriptions.end(this.#outbox);
    connected.remove(this.caller);
    followers.remove(this.#outbox);
    backups.abandon(this.#outbox);
  }

  /** Returns the milliseconds until the agent has paid what its frames cost. It is told at most every ten seconds. */
  #waitMs(): number {
    const { budget } = this.caller;
    if (!budget.isOverdrawn) return 0;
    const now = this.#deps.monotonic();
    const waitMs = budget.waitMs(now);
    if (waitMs > 0 && budget.isNoticeDue(now)) this.#tellOverdrawn(waitMs);
    return waitMs;
  }

  #tellOverdrawn(waitMs: number): void {
    const { limits, budget, sender } = this.caller;
    const [name, what] = budget.bytes.isOverdrawn
      ? (['bytes', 'bytes'] as const)
      : (['frames', 'units of frames'] as const);
    const setting = this.#deps.limits.setting(sender.role, 'rates', name);
    const message = `more than ${figure(limits.rates[name])} ${what} a second for role '${sender.role}': the frames of '${sender.agent}' are read later; send less, or raise ${setting}`;
    this.#responder.refuse({ code: 'rate_limited', message }, waitMs);
  }

  /** Handles one frame. An error refuses the frame and ends neither the connection nor the broker. */
  #handle(header: string, body: string | undefined): Promise<void> | undefined {
    const { frame, refusal } = parseClientFrame(header);
    if (refusal) {
      this.#responder.refuse(refusal);
      return undefined;
    }
    this.caller.budget.frames.spend(frameCosts[frame.type]);
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
  { outbox, responder, budget }: { outbox: Outbox; responder: Responder; budget: AgentBudget },
  { policies, limits }: SessionDeps,
): Caller {
  const { role } = sender;
  return {
    token,
    sender,
    isOperator: token.permissions.includes('operator'),
    mintsOnly: token.permissions.includes('mint'),
    policy: policies[role],
    limits: limits.of(role),
    budget,
    consumer: outbox,
    producer: responder,
    isConnected: true,
  };
}

function idsOf(frame: ClientFrame): FrameIds {
  return {
    ...('id' in frame && { id: frame.id }),
    ...('request_id' in frame && frame.request_id !== undefined && { request_id: frame.request_id }),
  };
}
