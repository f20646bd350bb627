import type { Duplex } from 'node:stream';
import { isAddress, memberAddress } from '@signalbox/protocol';
import { parseBrokerAddresses } from '@signalbox/protocol/internal';
import type { Tracing } from '@signalbox/serving/tracing';
import { nanoid } from 'nanoid';
import type { BrokerClient, Log } from './broker-client.ts';
import { Client } from './client.ts';
import { type StartTimer, startTimer } from './clock.ts';
import { clientError } from './errors.ts';
import { newMessageId } from './requests/message-id.ts';

/** Options of a connection to the broker. Times in milliseconds. */
export interface ConnectOptions {
  /**
   * The broker's address: `unix:/absolute/path`, `ws://host:port` or `wss://host:port`. Several brokers of one namespace are separated by
   * commas: the client begins with any of them, and tries the next one if it loses the connection or gets none.
   */
  url: string;
  /** Allows plain `ws://` to another machine, although token and messages cross the network unencrypted. */
  insecure?: boolean;
  /**
   * The certificates of the authorities that a `wss://` broker's certificate may come from, as PEM text. By default those that Node
   * trusts; only these are trusted if it is given.
   */
  ca?: string;
  /** Opens each connection to the broker in place of a socket, for a broker in this process. `url` then only names it. */
  openSocket?: () => Duplex;
  /** The agent's token. */
  token: string;
  /**
   * Called when the broker no longer accepts the token, because it was revoked or has expired. If it resolves with another token of the
   * same agent, the client goes on in that token's role; otherwise it is closed for good.
   */
  renewToken?: () => Promise<string | undefined>;
  /** The client's address: `agent`, or `agent#sub` (see {@link requestAddress}). */
  agent: string;
  /** Aborting it closes the client for good. */
  signal?: AbortSignal;
  /**
   * The longest time of one attempt to connect, up to the broker's welcome; default 10 s. At most 3 s while another address was not tried.
   */
  connectTimeoutMs?: number;
  /**
   * True: the first connection is tried until it succeeds, is refused for good or is aborted. By default there is one attempt at each
   * address.
   */
  waitForBroker?: boolean;
  /** Returns monotonic milliseconds; by default `performance.now()`. */
  now?: () => number;
  /** Returns a random number for jitter: 0 ≤ value < 1. */
  random?: () => number;
  /** Starts the client's timers; by default those of Node. */
  startTimer?: StartTimer;
  /**
   * True: the client has taken over the address of one that is gone, and repeats its requests with their ids. A reply that has no
   * request yet waits 30 s for it; by default it becomes a dead letter at once.
   */
  resumes?: boolean;
  /**
   * Makes a span of each stored message that is sent, of each reply that comes, and of each request that is served. Without it there
   * are none, and the trace contexts that callers give are passed on.
   */
  tracing?: Tracing | undefined;
  /** Makes message ids, which the client does not check. */
  newId?: () => string;
  /** Called with each event that the client reports. */
  log?: Log;
}

const defaultConnectTimeoutMs = 10_000;

/**
 * Connects to a broker and resolves when the broker has welcomed the client. Rejects with `unreachable`, `aborted`, `unauthorized` or
 * another code of the broker; with `bad_broker_url`, `insecure_url`, `untrusted_socket`, `untrusted_certificate` or `wrong_scheme` for a
 * url that the client does not connect to; or with `invalid_message` for a wrong address of the client.
 */
export async function connectBroker(options: ConnectOptions): Promise<BrokerClient> {
  const { url, insecure = false, ca, token, agent, signal } = options;
  if (!isAddress(agent)) {
    throw clientError('invalid_message', `'${agent}' is not an address: use an agent id, or agent#sub`);
  }
  const client = new Client({
    brokers: parseBrokerAddresses(url, { insecure }),
    ca,
    openSocket: options.openSocket,
    token,
    renewToken: options.renewToken,
    address: agent,
    connectTimeoutMs: options.connectTimeoutMs ?? defaultConnectTimeoutMs,
    waitForBroker: options.waitForBroker ?? false,
    signal,
    clock: {
      now: options.now ?? (() => performance.now()),
      random: options.random ?? Math.random,
      startTimer: options.startTimer ?? startTimer,
    },
    log: options.log ?? (() => {}),
    newId: options.newId ?? newMessageId,
    resumes: options.resumes ?? false,
    tracing: options.tracing,
  });
  return client.start();
}

/** Returns a new address for a client that takes messages of a group: `SubscribeOptions.group`. */
export function groupAddress(agent: string, name = nanoid()): string {
  return memberAddress(agent, name);
}
