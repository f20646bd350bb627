import { isAddress } from '@signalbox/protocol';
import { nanoid } from 'nanoid';
import type { BrokerClient } from './broker-client.ts';
import { Client } from './client.ts';
import { type Log, type StartTimer, startTimer } from './clock.ts';
import { clientError } from './errors.ts';
import { messageIds } from './requests/message-ids.ts';
import { backoffPolicies } from './socket/backoff.ts';

export interface ConnectOptions {
  /** `ws://host:port` */
  url: string;
  token: string;
  /**
   * Asked when the broker takes the token no more: it was revoked or has expired. Another one for the same agent goes on,
   * with the role that it has; without one, or with the same, the connection has ended for good.
   */
  renewToken?: () => Promise<string | undefined>;
  /** The address to be: `agent`, or `agent#sub` (see {@link requestAddress}). */
  agent: string;
  /** How patiently it reconnects: a worker waits up to 2 s, an orchestrator up to 30 s. Default `worker`. */
  backoff?: keyof typeof backoffPolicies;
  /** Ends the connection for good. */
  signal?: AbortSignal;
  /** For one attempt, hello included; default 10 s. */
  connectTimeoutMs?: number;
  /** Keep trying the first connection too, until it is refused for good or aborted. Default: one attempt. */
  waitForBroker?: boolean;
  /** Monotonic milliseconds. */
  now?: () => number;
  /** For jitter: 0 ≤ value < 1. */
  random?: () => number;
  startTimer?: StartTimer;
  /** Makes message ids; what it makes is not checked. */
  newId?: () => string;
  log?: Log;
}

const defaultConnectTimeoutMs = 10_000;

/**
 * Connects to a broker and resolves at its welcome. Rejects with `unreachable`, `unauthorized`, another code of the
 * broker's, `aborted`, or `invalid_message` for a bad url or address.
 */
export async function connectBroker(options: ConnectOptions): Promise<BrokerClient> {
  const { url, token, agent, signal } = options;
  if (!isAddress(agent)) {
    throw clientError('invalid_message', `'${agent}' is not an address: use an agent id, or agent#sub`);
  }
  if (!/^wss?:\/\/[^#]+$/.test(url) || !URL.canParse(url)) {
    throw clientError('invalid_message', `'${url}' is not a WebSocket address like ws://127.0.0.1:7420`);
  }
  const client = new Client({
    url,
    token,
    renewToken: options.renewToken,
    address: agent,
    connectTimeoutMs: options.connectTimeoutMs ?? defaultConnectTimeoutMs,
    waitForBroker: options.waitForBroker ?? false,
    policy: backoffPolicies[options.backoff ?? 'worker'],
    signal,
    clock: {
      now: options.now ?? (() => performance.now()),
      random: options.random ?? Math.random,
      startTimer: options.startTimer ?? startTimer,
    },
    log: options.log ?? (() => {}),
    newId: options.newId ?? messageIds(Date.now),
  });
  return client.start();
}

/**
 * An address for a client that asks: a sub-inbox of its own, so that two clients with one token never take each
 * other's replies. The broker removes it some time after nobody holds it.
 */
export function requestAddress(agent: string): string {
  return `${agent}#mcp-${nanoid()}`;
}
