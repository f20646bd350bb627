import { lstat, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { laneLimits, messageOf } from '@signalbox/protocol';
import { untrustedDirectory } from '@signalbox/protocol/internal';
import { backoffMs } from '@signalbox/serving';
import type { BrokerClient, Log } from '../broker-client.ts';
import type { Clock } from '../clock.ts';
import type { BrokerCalls } from '../requests/broker-calls.ts';
import { type LaneReceiver, OpenLane } from './open-lane.ts';

/**
 * The time after the end of a lane before another one is opened, in milliseconds. It doubles with each attempt in vain, up to the longer one:
 * where there is no lane, such as on another machine, there will seldom be one later.
 */
const openAgain = { firstMs: 1_000, longestMs: 60_000, jitter: 0 };
/** While more than this waits unread at the orchestrator, requests go through the broker. */
const maxUnread = 1024 * 1024;

type LaneListener = Parameters<BrokerClient['onLane']>[0];

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
  /** The lane whose orchestrator has not answered yet. */
  #opening: OpenLane | undefined;
  #tryFrom = Number.NEGATIVE_INFINITY;
  #inVain = 0;
  readonly #listeners = new Set<LaneListener>();

  constructor(deps: RequesterLaneDeps) {
    this.#deps = deps;
  }

  /** True while requests go directly. */
  get isOpen(): boolean {
    return this.#lane !== undefined;
  }

  /** See `BrokerClient.onLane`. */
  onLane(listener: LaneListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
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
    this.#opening?.close();
    this.#lane?.finish();
    this.#use(undefined);
  }

  /** Ends the lane, because the client is closed. */
  close(): void {
    const lane = this.#lane;
    this.disconnected();
    lane?.close();
  }

  #use(lane: OpenLane | undefined): void {
    if (this.#lane === lane) return;
    this.#lane = lane;
    for (const listener of this.#listeners) listener(lane?.epoch);
  }

  /**
   * Returns the lane to an orchestrator if it can take a request with this body now. If there is none, it is opened for later requests.
   * With `epoch`, only the lane of that epoch is returned; none with `null`.
   */
  to(orchestrator: string, body: string | undefined, epoch?: string | null): OpenLane | undefined {
    const lane = this.#lane;
    if (lane?.orchestrator !== orchestrator) {
      if (lane === undefined) this.#open(orchestrator);
      return undefined;
    }
    if (epoch !== undefined && epoch !== lane.epoch) return undefined;
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
    this.#tryFrom = this.#deps.clock.now() + backoffMs(openAgain, this.#inVain++, 0);
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
      ...{ orchestrator, address, id, proof, path: place, ticket, clock },
      receiver,
      opened: () => resolve(opening),
      over: () => {
        resolve(undefined);
        if (this.#lane !== opening) return;
        this.#use(undefined);
        this.#tryLater();
        log({ event: 'lane_lost' });
      },
    });
    if (!this.#isConnected) opening.close();
    this.#opening = opening;
    const cancelTimer = clock.startTimer(() => opening.close(), laneLimits.ticketMs);
    const lane = await promise;
    cancelTimer();
    this.#opening = undefined;
    if (!lane) return;
    if (!this.#isConnected) {
      lane.close();
      return;
    }
    log({ event: 'lane_opened' });
    this.#use(lane);
    this.#inVain = 0;
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
