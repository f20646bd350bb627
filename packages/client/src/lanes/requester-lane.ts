import { lstat, realpath, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { basename, dirname, join } from 'node:path';
import {
  type DeliverFrame,
  frameDefaults,
  type LaneFrame,
  laneLimits,
  type Message,
  messageOf,
  replyIdOf,
} from '@signalbox/protocol';
import { untrustedDirectory } from '@signalbox/protocol/internal';
import type { Log } from '../broker-client.ts';
import type { Clock } from '../clock.ts';
import type { BrokerCalls } from '../requests/broker-calls.ts';
import { LaneSocket } from './lane-socket.ts';

/**
 * The time after the end of a lane before another one is opened, in milliseconds. It doubles with each attempt in vain, up to the longer one:
 * where there is no lane, such as on another machine, there will seldom be one later.
 */
const openAgainMs = { first: 1_000, longest: 60_000 };
/** While more than this waits unread at the orchestrator, requests go through the broker. */
const maxUnread = 1024 * 1024;
/** The most characters of one frame of an orchestrator: the longest message of any broker, and its header. */
const maxLength = 64 * 1024 * 1024;

/** The sender of what the broker itself would say. */
const broker = { agent: 'broker', address: 'broker', role: 'broker' };

/** The part of a client that takes what comes on its lane. */
export interface LaneReceiver {
  /** Called with a reply or with progress. */
  received(message: Message, lane: OpenLane): void;
  /** Called if the orchestrator has not begun a request, and does not. */
  notBegun(id: string): void;
  /** Called when a lane ends while requests have no reply. `epoch` is that of the journal in which they may have been started. */
  lost(ids: readonly string[], epoch: string | undefined): void;
}

export interface RequesterLaneDeps {
  calls: Pick<BrokerCalls, 'call'>;
  clock: Clock;
  log: Log;
  /** The client's own address. */
  address: string;
  /** Returns the receiver. */
  receiver: () => LaneReceiver;
}

/**
 * Sends requests to an orchestrator on this machine directly. The lane is opened when it is first wanted; until then, and whenever it is
 * not there, requests go through the broker.
 */
export class RequesterLane {
  readonly #deps: RequesterLaneDeps;
  #lane: OpenLane | undefined;
  #isConnected = false;
  #isOpening = false;
  #tryFrom = Number.NEGATIVE_INFINITY;
  #inVain = 0;

  constructor(deps: RequesterLaneDeps) {
    this.#deps = deps;
  }

  /** True while requests go directly. */
  get isOpen(): boolean {
    return this.#lane !== undefined;
  }

  /** Notes that the broker has welcomed the client. */
  connected(): void {
    this.#isConnected = true;
    this.#tryFrom = Number.NEGATIVE_INFINITY;
    this.#inVain = 0;
  }

  /** The lane takes no new request: the broker no longer vouches for the client. Replies to the earlier ones still come. */
  disconnected(): void {
    this.#isConnected = false;
    this.#lane?.finish();
    this.#lane = undefined;
  }

  /** Ends the lane, because the client is closed. */
  close(): void {
    const lane = this.#lane;
    this.disconnected();
    lane?.close();
  }

  /**
   * Returns the lane to an orchestrator if it can take a request with this body now. If there is none, it is opened for later requests.
   */
  to(orchestrator: string, body: string | undefined): OpenLane | undefined {
    const lane = this.#lane;
    if (lane?.orchestrator !== orchestrator) {
      if (lane === undefined) this.#open(orchestrator);
      return undefined;
    }
    if (body === undefined || lane.unread > maxUnread) return undefined;
    return Buffer.byteLength(body) > laneLimits.requestBytes ? undefined : lane;
  }

  #open(to: string): void {
    const { calls, clock, log } = this.#deps;
    if (!this.#isConnected || this.#isOpening || clock.now() < this.#tryFrom) return;
    this.#isOpening = true;
    calls
      .call({ type: 'open_lane', to })
      .then(({ lane }) => lane && this.#connect(to, lane))
      .catch((thrown) => log({ event: 'lane_not_opened', reason: messageOf(thrown) }))
      .finally(() => {
        this.#isOpening = false;
        if (!this.#lane) this.#tryLater();
      });
  }

  #tryLater(): void {
    const { first, longest } = openAgainMs;
    this.#tryFrom = this.#deps.clock.now() + Math.min(longest, first * 2 ** this.#inVain++);
  }

  async #connect(
    orchestrator: string,
    { id, path, ticket, proof }: { id: string; path: string; ticket: string; proof: string },
  ): Promise<void> {
    const { log, address, clock, receiver } = this.#deps;
    const place = await trustedSocket(path);
    // Where there is no socket, such as on another machine, everything goes through the broker.
    if (place === undefined) return;
    const { promise, resolve } = Promise.withResolvers<OpenLane | undefined>();
    const opening = new OpenLane({
      ...{ orchestrator, address, id, proof, path: place, ticket },
      receiver,
      opened: () => resolve(opening),
      over: () => {
        resolve(undefined);
        if (this.#lane !== opening) return;
        this.#lane = undefined;
        this.#tryLater();
        log({ event: 'lane_lost' });
      },
    });
    const cancelTimer = clock.startTimer(() => opening.close(), laneLimits.ticketMs);
    const lane = await promise;
    cancelTimer();
    if (!lane) return;
    if (!this.#isConnected) {
      lane.close();
      return;
    }
    log({ event: 'lane_opened' });
    this.#lane = lane;
    this.#inVain = 0;
  }
}

interface OpenLaneOptions {
  orchestrator: string;
  address: string;
  id: string;
  path: string;
  ticket: string;
  proof: string;
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
  /** Replies that were received and not acked. */
  #unacked = 0;
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

  /** What the orchestrator has not read. */
  get unread(): number {
    return this.#socket.unread;
  }

  /** Sends a request with a lifetime in milliseconds. */
  request({ id, kind, thread, traceparent }: DeliverFrame, body: string, remainingMs: number): void {
    this.#waiting.add(id);
    this.#socket.send(
      {
        ...{ type: 'request', id, kind, remaining_ms: Math.min(frameDefaults.ttlMs, Math.ceil(remainingMs)) },
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
    this.#socket.send({ type: 'ack', ids: [id] });
    this.#endIfIdle();
  }

  /** Takes no new request. The lane ends when all replies have come and are acked. */
  finish(): void {
    this.#isFinishing = true;
    this.#endIfIdle();
  }

  /** Ends the lane at once. */
  close(): void {
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
        receiver().received(this.#message(frame.id, frame.kind, body, replyIdOf(frame.id)), this);
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
        if (frame.maybe_begun) receiver().lost([frame.id], this.#epoch);
        else receiver().notBegun(frame.id);
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
    if (this.#isFinishing && this.#waiting.size === 0 && this.#unacked === 0) this.#socket.end();
  }

  #over(): void {
    const ids = [...this.#waiting];
    this.#waiting.clear();
    this.#options.over();
    if (ids.length > 0) this.#options.receiver().lost(ids, this.#epoch);
  }
}

/**
 * Returns the path of a socket of this user, in a directory into which nobody else can put one, without symbolic links; `undefined` if there
 * is none.
 */
async function trustedSocket(path: string): Promise<string | undefined> {
  try {
    const directory = await realpath(dirname(path));
    const uid = process.getuid?.() ?? 0;
    if (untrustedDirectory(await stat(directory), uid) !== undefined) return undefined;
    const place = join(directory, basename(path));
    const found = await lstat(place);
    return found.isSocket() && (found.uid === uid || found.uid === 0) ? place : undefined;
  } catch {
    return undefined;
  }
}
