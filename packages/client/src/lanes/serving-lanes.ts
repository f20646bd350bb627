import { chmod, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import {
  type ClientFrame,
  frameLimits,
  type LaneCall,
  type LaneFrame,
  type LaneGrantFrame,
  type LanesFrame,
  laneLimits,
  type Message,
  messageOf,
} from '@signalbox/protocol';
import { Budget } from '@signalbox/serving';
import type { Log, ReplyEnd } from '../broker-client.ts';
import type { Clock } from '../clock.ts';
import { LaneSocket } from './lane-socket.ts';

/** The requests of one worker on its lane that may be open at a time, and the bytes of their bodies. Beyond them the lane is not read. */
const window = { requests: 256, bytes: 8 * 1024 * 1024 };
/** What may wait unread by a worker before its lane is not read any more, in bytes. */
const maxUnread = 8 * 1024 * 1024;
/** The time after which a lane is ended whose worker does not read, in milliseconds. */
const unreadMs = 10_000;
/** The most characters of one frame of a worker. */
const maxLength = laneLimits.requestBytes + frameLimits.headerLength + 2;
/** The connections that have not shown their ticket; more are refused. */
const maxStrangers = 256;
/** The time for which an orchestrator that stops waits for the acks of its replies, in milliseconds. */
const ackMs = 250;
/** The time between two reports of calls to the broker, in milliseconds. */
const reportMs = 100;

/** The request runner, as the lanes of an orchestrator see it. */
export interface LaneRunner {
  /** Takes a request. Returns false if it is not taken, and has not begun. */
  acceptFromLane(lane: ServedLane, message: Message): boolean;
  /** The worker withdraws its request. */
  cancelFromLane(lane: ServedLane, id: string, agent: string): void;
  /** A lane has ended. */
  laneEnded(lane: ServedLane): void;
  /** The worker of a lane may call nothing any more. */
  laneForbidden(lane: ServedLane): void;
}

export interface ServingLanesDeps {
  /** The path of the socket. */
  path: string;
  /** The client's own address. */
  address: string;
  send: (frame: ClientFrame) => void;
  runner: LaneRunner;
  /** Returns the epoch of the journal, if there is one. */
  epoch: () => string | undefined;
  clock: Clock;
  log: Log;
}

interface Ticket extends Pick<LaneGrantFrame, 'ticket' | 'proof' | 'from' | 'limits'> {
  until: number;
}

/**
 * Takes requests of workers on this machine directly, on a Unix socket. The broker says who each of them is: a worker shows a ticket that the
 * broker has given to both sides. New requests are taken only while the broker says each second that the lanes stand.
 */
export class ServingLanes implements AsyncDisposable {
  readonly #deps: ServingLanesDeps;
  readonly #tickets = new Map<string, Ticket>();
  /** Connections whose tickets the broker has not told yet, by the lanes that they name. */
  readonly #strangers = new Map<Stranger, string | undefined>();
  readonly #lanes = new Map<string, ServedLane>();
  #server: Server | undefined;
  #standUntil = Number.NEGATIVE_INFINITY;
  #isStopping = false;
  #isWatched = false;
  #onIdle = (): void => {};
  #calls: LaneCall[] = [];
  #cancelReport: (() => void) | undefined;

  constructor(deps: ServingLanesDeps) {
    this.#deps = deps;
  }

  /** Listens on the socket. If that is not possible, it is logged, and all requests come through the broker. */
  async listen(): Promise<void> {
    const { path, log } = this.#deps;
    const server = createServer((socket) => this.#arrived(socket));
    try {
      // The lock on the data directory says that no other orchestrator listens here.
      await rm(path, { force: true });
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(path, resolve);
      });
      server.on('error', () => {});
      await chmod(path, 0o600);
      this.#server = server;
      this.connected();
    } catch (thrown) {
      server.close();
      log({ event: 'no_lanes', path, reason: messageOf(thrown) });
    }
  }

  /** Tells the broker where workers find the socket. Call it on each new connection. */
  connected(): void {
    if (this.#server && !this.#isStopping) this.#deps.send({ type: 'offer_lanes', path: this.#deps.path });
  }

  /** The connection to the broker is lost, and with it what the broker says of lanes. Running requests go on. */
  disconnected(): void {
    this.#standUntil = Number.NEGATIVE_INFINITY;
    this.#tickets.clear();
    for (const lane of this.#lanes.values()) lane.finish();
  }

  /** Notes a ticket that a worker will show. */
  granted({ lane, ticket, proof, from, limits }: LaneGrantFrame): void {
    const now = this.#deps.clock.now();
    this.#standUntil = now + laneLimits.leaseMs;
    for (const [id, { until }] of this.#tickets) if (until < now) this.#tickets.delete(id);
    this.#tickets.set(lane, { ticket, proof, from, limits, until: now + laneLimits.ticketMs });
    for (const [stranger, wanted] of this.#strangers) if (wanted === lane) stranger.look();
  }

  /** Notes that the lanes stand, and which of them have ended. */
  stand({ ended, watched }: LanesFrame): void {
    this.#standUntil = this.#deps.clock.now() + laneLimits.leaseMs;
    this.#isWatched = watched;
    for (const { lane: id, cancels } of ended) {
      this.#tickets.delete(id);
      const lane = this.#lanes.get(id);
      if (!lane) continue;
      if (cancels) this.#deps.runner.laneForbidden(lane);
      lane.finish();
    }
  }

  /** Takes no more requests, and no more lanes. */
  stop(): void {
    this.#isStopping = true;
    this.#deps.send({ type: 'offer_lanes' });
    for (const lane of this.#lanes.values()) lane.finish();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    this.#report();
    for (const stranger of [...this.#strangers.keys()]) stranger.close();
    await this.#acked();
    for (const lane of [...this.#lanes.values()]) lane.close();
    const server = this.#server;
    if (server) await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  /** Resolves when all lanes have ended by themselves, or after a short time: the agent of a worker may read a reply much later. */
  async #acked(): Promise<void> {
    if (this.#lanes.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onIdle = resolve;
    const cancelTimer = this.#deps.clock.startTimer(resolve, ackMs);
    await promise;
    cancelTimer();
  }

  #arrived(socket: Socket): void {
    if (this.#isStopping || this.#strangers.size >= maxStrangers) {
      socket.destroy();
      return;
    }
    const stranger = new Stranger(socket, {
      clock: this.#deps.clock,
      named: (lane) => this.#strangers.set(stranger, lane),
      take: (lane, secret) => this.#take(lane, secret),
      over: () => this.#strangers.delete(stranger),
    });
    this.#strangers.set(stranger, undefined);
  }

  /** Makes the lane of a connection that shows a ticket. Returns `undefined` while the ticket is unknown, and false if it is wrong. */
  #take(id: string, secret: string): ((socket: LaneSocket) => ServedLane) | false | undefined {
    const known = this.#tickets.get(id);
    if (!known) return undefined;
    this.#tickets.delete(id);
    const { clock } = this.#deps;
    if (known.ticket !== secret || known.until < clock.now()) return false;
    return (socket) => {
      const epoch = this.#deps.epoch();
      socket.send({ type: 'lane', lane: id, secret: known.proof, ...(epoch !== undefined && { epoch }) });
      const lane = new ServedLane(id, socket, known, {
        ...{ address: this.#deps.address, clock, runner: this.#deps.runner },
        takesRequests: () => !this.#isStopping && clock.now() < this.#standUntil,
        isWatched: () => this.#isWatched,
        report: (call) => this.#add(call),
        over: () => {
          this.#lanes.delete(id);
          if (this.#lanes.size === 0) this.#onIdle();
        },
      });
      this.#lanes.set(id, lane);
      return lane;
    };
  }

  #add(call: LaneCall): void {
    this.#calls.push(call);
    if (this.#calls.length >= frameLimits.laneCalls) this.#report();
    else this.#cancelReport ??= this.#deps.clock.startTimer(() => this.#report(), reportMs);
  }

  #report(): void {
    this.#cancelReport?.();
    this.#cancelReport = undefined;
    const calls = this.#calls;
    this.#calls = [];
    if (calls.length > 0) this.#deps.send({ type: 'lane_calls', calls });
  }
}

interface StrangerDeps {
  clock: Clock;
  named: (lane: string) => void;
  take: (lane: string, secret: string) => ((socket: LaneSocket) => ServedLane) | false | undefined;
  over: () => void;
}

/** A connection that has not shown a ticket. It has as long as a ticket is valid. */
class Stranger {
  readonly #socket: LaneSocket;
  readonly #deps: StrangerDeps;
  readonly #cancelTimer: () => void;
  #shown: { lane: string; secret: string } | undefined;
  #lane: ServedLane | undefined;

  constructor(socket: Socket, deps: StrangerDeps) {
    this.#deps = deps;
    this.#socket = new LaneSocket({
      socket,
      maxLength,
      receive: (frame, body) => this.#receive(frame, body),
      over: () => this.#over(),
    });
    this.#cancelTimer = deps.clock.startTimer(() => this.close(), laneLimits.ticketMs);
  }

  /** Looks whether the ticket is known by now. */
  look(): void {
    const { take, over } = this.#deps;
    if (!this.#shown) return;
    const make = take(this.#shown.lane, this.#shown.secret);
    if (make === undefined) return;
    if (!make) {
      this.close();
      return;
    }
    this.#cancelTimer();
    over();
    this.#lane = make(this.#socket);
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(frame: LaneFrame, body: string | undefined): void {
    if (this.#lane) {
      this.#lane.receive(frame, body);
      return;
    }
    // A worker waits for the proof before it sends anything else.
    if (this.#shown || frame.type !== 'lane') {
      this.close();
      return;
    }
    this.#shown = { lane: frame.lane, secret: frame.secret };
    this.#deps.named(frame.lane);
    this.look();
  }

  #over(): void {
    this.#cancelTimer();
    if (this.#lane) this.#lane.over();
    else this.#deps.over();
  }
}

interface ServedLaneDeps {
  address: string;
  clock: Clock;
  runner: LaneRunner;
  takesRequests: () => boolean;
  /** While nobody looks, only the rate of a worker counts, and it counts beginnings. */
  isWatched: () => boolean;
  report: (call: LaneCall) => void;
  over: () => void;
}

/** One worker's lane, at the orchestrator. */
export class ServedLane {
  readonly #id: string;
  readonly #socket: LaneSocket;
  readonly #ticket: Ticket;
  readonly #deps: ServedLaneDeps;
  readonly #rate: Budget;
  /** The bytes of the requests without a reply. */
  readonly #open = new Map<string, number>();
  #openBytes = 0;
  /** What is to be told of replies that the agent may not have. */
  readonly #unacked = new Map<string, (how: ReplyEnd) => void>();
  #isFinishing = false;
  #isOver = false;
  #isPaused = false;
  #cancelUnreadTimer: (() => void) | undefined;

  constructor(id: string, socket: LaneSocket, ticket: Ticket, deps: ServedLaneDeps) {
    this.#id = id;
    this.#socket = socket;
    this.#ticket = ticket;
    this.#deps = deps;
    const { messages, burst } = ticket.limits;
    this.#rate = new Budget(messages, burst, deps.clock.now());
  }

  /** Takes no new request. The lane ends when all replies were sent and are acked. */
  finish(): void {
    this.#isFinishing = true;
    this.#endIfIdle();
  }

  /** Ends the lane at once. */
  close(): void {
    this.#socket.end();
  }

  /** Takes a frame of the worker. */
  receive(frame: LaneFrame, body: string | undefined): void {
    const { runner } = this.#deps;
    switch (frame.type) {
      case 'request':
        this.#request(frame, body);
        break;
      case 'cancel':
        runner.cancelFromLane(this, frame.id, this.#ticket.from.agent);
        break;
      case 'ack':
        for (const id of frame.ids) this.#settle(id, 'stored');
        this.#endIfIdle();
        break;
      default:
        this.#socket.destroy();
    }
  }

  /** Sends a reply. `settled` is told whether the agent's side has it. */
  reply(id: string, kind: string, text: string, settled: (how: ReplyEnd) => void): void {
    if (this.#isOver) {
      settled('waits');
      return;
    }
    this.#unacked.set(id, settled);
    this.#socket.send({ type: 'reply', id, kind }, text);
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
    this.#unacked.set(id, () => {});
    this.#ended(id);
  }

  /** Leaves a request to the broker. */
  useBroker(id: string, { maybeBegun = false }: { maybeBegun?: boolean } = {}): void {
    this.#socket.send({ type: 'use_broker', id, ...(maybeBegun && { maybe_begun: true }) });
    this.#ended(id);
    this.#endIfIdle();
  }

  /** Notes that the connection is over. */
  over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelUnreadTimer?.();
    this.#deps.over();
    for (const id of [...this.#unacked.keys()]) this.#settle(id, 'waits');
    this.#deps.runner.laneEnded(this);
  }

  #request(
    { id, kind, remaining_ms, thread, traceparent }: Extract<LaneFrame, { type: 'request' }>,
    body: string | undefined,
  ): void {
    const { address, clock, runner, takesRequests, report } = this.#deps;
    const bytes = Buffer.byteLength(body ?? '');
    if (body === undefined || bytes > laneLimits.requestBytes || this.#open.has(id)) {
      this.#socket.destroy();
      return;
    }
    this.#open.set(id, bytes);
    this.#openBytes += bytes;
    this.#rate.spend(1);
    const { from, limits } = this.#ticket;
    const message: Message = {
      ...{ id, from, to: address, kind, created_at: Date.now(), body },
      remaining_ms: Math.min(remaining_ms, limits.ttl_ms),
      ...(thread !== undefined && { thread }),
      ...(traceparent !== undefined && { traceparent }),
    };
    const mayTake = !this.#isFinishing && takesRequests() && bytes <= limits.bytes;
    if (!mayTake || !runner.acceptFromLane(this, message)) {
      this.useBroker(id);
      return;
    }
    report({ lane: this.#id, id, bytes, ...(thread !== undefined && { thread }) });
    const waitMs = this.#rate.isOverdrawn ? this.#rate.waitMs(clock.now()) : 0;
    if (waitMs > 0) clock.startTimer(() => this.#readOn(), waitMs);
    if (waitMs > 0 || this.#isFull) this.#pause();
  }

  get #isFull(): boolean {
    return this.#open.size >= window.requests || this.#openBytes >= window.bytes;
  }

  #ended(id: string): void {
    this.#openBytes -= this.#open.get(id) ?? 0;
    this.#open.delete(id);
    this.#readOn();
  }

  #pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  #readOn(): void {
    if (!this.#isPaused || this.#isFull || this.#socket.unread > maxUnread) return;
    if (this.#rate.isOverdrawn && this.#rate.waitMs(this.#deps.clock.now()) > 0) return;
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

  #settle(id: string, how: ReplyEnd): void {
    const settled = this.#unacked.get(id);
    if (this.#unacked.delete(id)) settled?.(how);
  }

  #endIfIdle(): void {
    if (this.#isFinishing && this.#open.size === 0 && this.#unacked.size === 0) this.#socket.end();
  }
}
