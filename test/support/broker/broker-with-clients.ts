import type { BrokerOptions } from '@signalbox/broker';
import { type BrokerClient, type ConnectOptions, connectBroker } from '@signalbox/client';
import { agentOf } from '@signalbox/protocol';
import { startTestBroker, type TestBroker } from '@signalbox/testing';
import { expect, vi } from 'vitest';

type Event = { event: string; [fact: string]: unknown };

/** A broker, and clients of it that are closed before it. Each agent has one token. */
export interface BrokerWithClients extends AsyncDisposable {
  readonly broker: TestBroker;
  readonly url: string;
  token(agent: string, role?: string): Promise<string>;
  /** A client for `agent` or `agent#sub`, and what it logs. */
  connect(
    address: string,
    options?: Partial<ConnectOptions> & { role?: string },
  ): Promise<{ client: BrokerClient; events: Event[] }>;
  stop(): Promise<void>;
  /** Starts again on the same port and data. */
  start(): Promise<void>;
}

export async function startBrokerWithClients(
  options: Partial<BrokerOptions> = {},
): Promise<BrokerWithClients> {
  const broker = await startTestBroker({ durability: 'process', ...options });
  const clients: BrokerClient[] = [];
  return {
    broker,
    url: broker.url,
    token: broker.tokenOf,
    async connect(address, { role, ...rest } = {}) {
      const events: Event[] = [];
      const log = (event: Event): void => void events.push(event);
      const secret = await broker.tokenOf(agentOf(address), role);
      const client = await connectBroker({ url: broker.url, token: secret, agent: address, log, ...rest });
      clients.push(client);
      return { client, events };
    },
    stop: () => broker.broker.stop(),
    start: () => broker.restart(),
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()));
      await broker[Symbol.asyncDispose]();
    },
  };
}

/** A client's clock, which stands until the test advances it. Its timers run soon after their time has come. */
export function clientClock(): Required<Pick<ConnectOptions, 'now' | 'startTimer'>> & {
  advance(ms: number): void;
  /** The number of timers whose time has come, and which have not run yet. */
  due(): number;
} {
  let now = 0;
  const timers = new Map<object, number>();
  return {
    now: () => now,
    startTimer: (run, ms) => {
      const at = now + ms;
      const timer = setInterval(() => {
        if (now < at) return;
        stop();
        run();
      }, 1);
      const stop = (): void => {
        clearInterval(timer);
        timers.delete(timer);
      };
      timers.set(timer, at);
      return stop;
    },
    advance(ms) {
      now += ms;
    },
    due: () => [...timers.values()].filter((at) => at <= now).length,
  };
}

/** Returns a promise that the test resolves with `open`. */
export function gate(): { opened: Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

/** Resolves when the client reaches a state. */
export function reached(client: BrokerClient, name: BrokerClient['state']['name']): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (client.state.name === name) resolve();
  client.onState((state) => {
    if (state.name === name) resolve();
  });
  return promise;
}

/** Resolves when a handler's signal is aborted, with the code of its reason. */
export function aborted(signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    const done = (): void => resolve((signal.reason as { code: string }).code);
    if (signal.aborted) done();
    else signal.addEventListener('abort', done, { once: true });
  });
}

/** Resolves when the client's inbox holds nothing un-acked; the broker commits acks a few milliseconds after it has them. */
export async function drained(client: BrokerClient): Promise<void> {
  await vi.waitFor(async () => expect(await client.peek()).toEqual([]));
}
