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
  messageOf,
} from '@signalbox/protocol';
import { Budget } from '@signalbox/serving';
import type { Log } from '../broker-client.ts';
import type { Clock } from '../clock.ts';
import { LaneSocket } from './lane-socket.ts';
import { type LaneRunner, ServedLane, type Vouched } from './served-lane.ts';

/** The most characters of one frame of a worker. */
const maxLength = laneLimits.requestBytes + frameLimits.headerLength + 2;
/** The connections that have not shown their ticket; more are refused. */
const maxStrangers = 256;
/** The time for which an orchestrator that stops waits for the acks of its replies, in milliseconds. */
const ackMs = 250;
/** The most characters that the calls take in a report. The counts take less than the rest of the header. */
const maxCalls = frameLimits.headerLength / 2;
/** The time between two reports of calls to the broker, in milliseconds. */
const reportMs = 100;

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

interface Ticket extends Vouched {
  ticket: string;
  proof: string;
  until: number;
}

/**
 * Takes requests of workers on this machine directly, on a Unix socket. The broker says who each of them is: a worker shows a ticket that
 * the broker has given to both sides. New requests are taken only while the broker says each second that the lanes stand.
 */
export class ServingLanes implements AsyncDisposable {
  readonly #deps: ServingLanesDeps;
  readonly #tickets = new Map<string, Ticket>();
  /** Connections whose tickets the broker has not told yet, by the lanes that they name. */
  readonly #strangers = new Map<Stranger, string | undefined>();
  readonly #lanes = new Map<string, ServedLane>();
  /** The rates of agents: a new lane has what the one before has left. */
  readonly #rates = new Map<string, Budget>();
  #server: Server | undefined;
  #standUntil = Number.NEGATIVE_INFINITY;
  #isStopping = false;
  #isWatched = false;
  #onIdle = (): void => {};
  #calls: LaneCall[] = [];
  /** The length of these calls as JSON text. */
  #callsLength = 0;
  /** The calls that have begun since the last report, by their lanes. */
  readonly #begun = new Map<string, number>();
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
    if (this.#server && !this.#isStopping) this.#deps.send({ type: 'serve_lanes', path: this.#deps.path });
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
      for (const [stranger, wanted] of this.#strangers) if (wanted === id) stranger.close();
      const lane = this.#lanes.get(id);
      if (!lane) continue;
      if (cancels) this.#deps.runner.laneForbidden(lane);
      lane.finish();
    }
  }

  /** Takes no more requests, and no more lanes. */
  stop(): void {
    this.#isStopping = true;
    this.#deps.send({ type: 'serve_lanes' });
    for (const lane of this.#lanes.values()) lane.finish();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    this.#report();
    for (const stranger of [...this.#strangers.keys()]) stranger.close();
    await this.#acked();
    for (const lane of [...this.#lanes.values()]) lane.close();
    const server = this.#server;
    if (!server) return;
    // A worker that does not read must not hold up the end.
    const cancelTimer = this.#deps.clock.startTimer(() => {
      for (const lane of [...this.#lanes.values()]) lane.destroy();
    }, ackMs);
    await new Promise<void>((resolve) => server.close(() => resolve()));
    cancelTimer();
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
        ...{ address: this.#deps.address, clock, runner: this.#deps.runner, rate: this.#rateOf(known) },
        takesRequests: () => !this.#isStopping && clock.now() < this.#standUntil,
        isWatched: () => this.#isWatched,
        report: (call) => this.#add(call),
        begun: () => this.#count(id),
        over: () => {
          this.#lanes.delete(id);
          if (this.#lanes.size === 0) this.#onIdle();
        },
      });
      this.#lanes.set(id, lane);
      return lane;
    };
  }

  #rateOf({ from: { agent }, limits: { messages, burst } }: Ticket): Budget {
    const now = this.#deps.clock.now();
    const used = new Set(Array.from(this.#lanes.values(), (lane) => lane.rate));
    for (const [key, rate] of this.#rates) if (rate.isFull(now) && !used.has(rate)) this.#rates.delete(key);
    const key = `${agent} ${messages} ${burst}`;
    const rate = this.#rates.get(key) ?? new Budget(messages, burst, now);
    this.#rates.set(key, rate);
    return rate;
  }

  #add(call: LaneCall): void {
    const length = JSON.stringify(call).length + 1;
    if (this.#callsLength + length > maxCalls) this.#report();
    this.#calls.push(call);
    this.#callsLength += length;
    if (this.#calls.length >= frameLimits.laneCalls) this.#report();
    else this.#reportSoon();
  }

  #count(lane: string): void {
    this.#begun.set(lane, (this.#begun.get(lane) ?? 0) + 1);
    if (this.#begun.size >= frameLimits.laneCalls) this.#report();
    else this.#reportSoon();
  }

  #reportSoon(): void {
    this.#cancelReport ??= this.#deps.clock.startTimer(() => this.#report(), reportMs);
  }

  #report(): void {
    this.#cancelReport?.();
    this.#cancelReport = undefined;
    const begun = Array.from(this.#begun, ([lane, calls]) => ({ lane, calls }));
    const calls = this.#calls;
    this.#begun.clear();
    this.#calls = [];
    this.#callsLength = 0;
    if (begun.length === 0 && calls.length === 0) return;
    this.#deps.send({ type: 'lane_calls', begun, ...(calls.length > 0 && { calls }) });
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
      drained: () => this.#lane?.drained(),
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
