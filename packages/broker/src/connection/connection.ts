import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type BrokerFrame,
  type ClientFrame,
  closeCodeOf,
  type ErrorCode,
  frameCosts,
  hostRole,
  isPrivileged,
  parseClientFrame,
  type WelcomeFrame,
} from '@signalbox/protocol';
import type { Slices } from '@signalbox/serving';
import type { WebSocket } from 'ws';
import { hostPolicy } from '../auth/role-policy.ts';
import type { Caller } from '../frames/caller.ts';
import type { FrameDeps } from '../frames/frame-deps.ts';
import { handleFrame } from '../frames/handlers.ts';
import type { Outcome } from '../frames/outcome.ts';
import type { AgentBudget, AgentBudgets } from '../limits/agent-budgets.ts';
import { type binary, FrameReader, type Obstacle } from './frame-reader.ts';
import type { Identity } from './handshake.ts';
import { Outbox } from './outbox.ts';
import type { OutboxFlusher } from './outbox-flusher.ts';
import { Reading } from './reading.ts';
import { type FrameIds, Responder } from './responder.ts';

const MiB = 1024 * 1024;
const pauseBytes = 4 * MiB;
/** The bytes that may wait unread, in addition to the largest body, before the connection is closed. */
const closeBytesBesideBody = 20 * MiB;

/** The refusal of a binary WebSocket message. */
export const binaryMessage = 'frames are text; this WebSocket message was binary';

/** The dependencies that all connections share. */
export interface ConnectionDeps extends FrameDeps {
  flusher: OutboxFlusher;
  budgets: AgentBudgets;
}

/** The sockets of a {@link Connection}: its WebSocket, and the socket below, whose bytes count before they are a whole message. */
export interface ConnectionSockets {
  webSocket: WebSocket;
  transport: Duplex;
  isOnUnixSocket: boolean;
}

/** One authenticated connection. It reads frames, passes each to its handler, and sends the answers. */
export class Connection {
  readonly caller: Caller;
  readonly #sockets: ConnectionSockets;
  readonly #reading: Reading;
  readonly #deps: ConnectionDeps;
  readonly #outbox: Outbox;
  readonly #reader: FrameReader;
  readonly #responder: Responder;
  #isWelcome = false;

  constructor(sockets: ConnectionSockets, identity: Identity, deps: ConnectionDeps) {
    const reading = new Reading(sockets.webSocket);
    const budget = deps.budgets.of(identity.token);
    const closeBytes = closeBytesBesideBody + deps.limits.forAll.message.bytes;
    const outbox = new Outbox(
      sockets.webSocket,
      reading,
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
    this.#sockets = sockets;
    this.#reading = reading;
    this.#deps = deps;
    this.#outbox = outbox;
    this.#reader = new FrameReader({
      handle: this.#handle,
      countMessage: (bytes) => budget.charge(undefined, bytes),
      refuseBinary: () => this.#responder.refuse({ code: 'bad_frame', message: binaryMessage }),
      obstacle: this.#obstacle,
      slices: budget.slices,
      pause: () => reading.pause('frames wait'),
      resume: () => reading.resume('frames wait'),
    });
    this.#responder = new Responder(identity, outbox, budget, deps);
    const { isOnUnixSocket } = sockets;
    this.caller = callerOf(identity, { outbox, responder: this.#responder, budget, isOnUnixSocket }, deps);
    budget.take();
    deps.connected.add(this.caller, this.#tokenEnded);
    sockets.transport.prependListener('data', this.#partArrived);
    budget.slices.add(this);
  }

  /** False while the other side reads too slowly. */
  get isWritable(): boolean {
    return this.#outbox.writable;
  }

  /** True while frames wait because the agent is over its budget. */
  get isHeldUp(): boolean {
    return this.#reader.isHeldUp;
  }

  /** Sends `welcome` once the agent has paid for its earlier work, such as other connections. Its frames are handled after that. */
  begin(welcome: WelcomeFrame): void {
    const { budget, isConnected } = this.caller;
    if (!isConnected) return;
    const waitMs = budget.isOverdrawn ? budget.waitMs(this.#deps.monotonic()) : 0;
    if (waitMs > 0) {
      setTimeout(() => this.begin(welcome), waitMs);
      return;
    }
    budget.spendFrames(frameCosts.hello);
    this.#isWelcome = true;
    this.send(welcome);
    this.#reader.wake();
  }

  /** Takes one WebSocket message of this many bytes. Each of its frames gets its own answer. */
  receive(message: string | typeof binary, bytes: number): void {
    this.#reader.receive(message, bytes);
  }

  /** Stops reading until {@link readOn} is called with the same slices. */
  stopReading(slices: Slices): void {
    this.#reading.pause(slices);
  }

  /** Reads again from the socket. */
  readOn(slices: Slices): void {
    this.#reading.resume(slices);
  }

  /** Takes a ping of this many bytes. It costs as much as an empty message. */
  receivePing(bytes: number): void {
    this.receive('', bytes);
  }

  /** Sends a frame ahead of the waiting messages. */
  send(frame: BrokerFrame): void {
    this.#outbox.send(frame);
  }

  /** Sends an error and closes the connection with the close code of `code`, or 1011. */
  end(code: ErrorCode, message: string): void {
    if (!this.caller.isConnected) return;
    this.#responder.refuse({ code, message });
    this.close(closeCodeOf(code) ?? 1011, code);
  }

  /** Sends the waiting frames, closes the WebSocket, and releases the resources of the connection. */
  close(code: number, reason: string): void {
    if (!this.caller.isConnected) return;
    this.#outbox.flush();
    this.#sockets.webSocket.close(code, reason);
    this.#reading.end();
    this.dispose();
  }

  /** Releases the resources of the connection, because its socket is closed or closing. */
  dispose(): void {
    if (!this.caller.isConnected) return;
    const { budget } = this.caller;
    this.caller.isConnected = false;
    this.#sockets.transport.off('data', this.#partArrived);
    budget.slices.remove(this);
    budget.giveBack();
    const { delivery, connected, followers, rights, backups, reports, holds, lanes } = this.#deps;
    delivery.subscriptions.end(this.#outbox);
    connected.remove(this.caller);
    reports.remove(this.caller);
    followers.remove(this.#outbox);
    rights.remove(this.#outbox);
    holds.unfollow(this.#outbox);
    lanes.left(this.caller);
    backups.abandon(this.#outbox);
  }

  /** Counts a part of a message, and reads nothing more of the message while the agent is over its budget. */
  readonly #partArrived = (part: Buffer): void => {
    const { budget } = this.caller;
    budget.wasRead(this, part.length);
    if (!budget.isOverdrawn || !this.#reader.isIdle) return;
    const waitMs = this.#waitMs();
    if (waitMs > 0) this.#reader.holdUp(waitMs);
  };

  /** Ends the connection after its token. The audit log has the end of the token, or the time at which it expires, already. */
  readonly #tokenEnded = (message: string): void => {
    if (!this.caller.isConnected) return;
    this.#responder.tell({ code: 'unauthorized', message });
    this.close(closeCodeOf('unauthorized') ?? 1011, 'unauthorized');
  };

  readonly #obstacle = (): Obstacle | undefined => {
    const { isConnected, budget } = this.caller;
    if (!isConnected) return 'ended';
    if (!this.#isWelcome || !this.#outbox.writable) return 'answers wait';
    if (budget.slices.isOver) return 'slice is over';
    return budget.isOverdrawn ? this.#waitMs() || undefined : undefined;
  };

  /** Returns the milliseconds until the agent has paid for its frames. A notice about that is sent at most every ten seconds. */
  #waitMs(): number {
    const { budget } = this.caller;
    const now = this.#deps.monotonic();
    const waitMs = budget.waitMs(now);
    if (waitMs > 0 && budget.isNoticeDue(now)) this.#tellOverdrawn(waitMs);
    return waitMs;
  }

  #tellOverdrawn(waitMs: number): void {
    const { budget, sender } = this.caller;
    const { what, setting } = budget.overdraft(this.#deps.limits);
    const message = `${what}: the frames of '${sender.agent}' are read later; send less, or raise ${setting}`;
    this.#responder.refuse({ code: 'rate_limited', message }, waitMs);
  }

  /** Counts and handles one frame. An error refuses the frame; it ends neither the connection nor the broker. */
  readonly #handle = (
    header: string,
    body: string | undefined,
    messageBytes: number | undefined,
  ): Promise<void> | undefined => {
    const { frame, refusal } = parseClientFrame(header);
    this.caller.budget.charge(frame, messageBytes);
    if (refusal) {
      this.#responder.refuse(refusal);
      return undefined;
    }
    try {
      const outcome = handleFrame(frame, this.caller, this.#deps, body);
      return outcome && this.#conclude(frame, outcome);
    } catch (error) {
      this.#responder.failed(error, idsOf(frame));
      return undefined;
    }
  };

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
  {
    outbox,
    responder,
    budget,
    isOnUnixSocket,
  }: { outbox: Outbox; responder: Responder; budget: AgentBudget; isOnUnixSocket: boolean },
  { policies, limits }: ConnectionDeps,
): Caller {
  const { role } = sender;
  return {
    token,
    sender,
    mintsOnly: token.permissions.includes('mint'),
    policy: role === hostRole ? hostPolicy : policies[role],
    limits: limits.of(role),
    isPrivileged: isPrivileged(role),
    budget,
    consumer: outbox,
    producer: responder,
    isOnUnixSocket,
    isConnected: true,
  };
}

function idsOf(frame: ClientFrame): FrameIds {
  return {
    ...('id' in frame && { id: frame.id }),
    ...('request_id' in frame && frame.request_id !== undefined && { request_id: frame.request_id }),
  };
}
