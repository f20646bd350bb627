import type { BrokerClient } from '@signalbox/client';
import { SignalboxError } from '@signalbox/protocol';
import { late, within } from './time-limit.ts';

const connectMs = 30_000;

/**
 * The agent's connection under its own address: what it sends is answered there, and its inbox is read there. Opened at
 * first use, and again after it was lost for good.
 */
export class MainConnection implements AsyncDisposable {
  readonly #connect: (signal: AbortSignal) => Promise<BrokerClient>;
  readonly #stop = new AbortController();
  #opening: Promise<BrokerClient> | undefined;

  constructor(connect: (signal: AbortSignal) => Promise<BrokerClient>) {
    this.#connect = connect;
  }

  /** Throws `SignalboxError`: the reason of the broker, or `unreachable` if none answers in 30 s, or until `signal`. */
  async client(signal: AbortSignal): Promise<BrokerClient> {
    const client = await within(this.#openOne(), connectMs, signal);
    if (client !== late) return client;
    throw new SignalboxError('unreachable', 'the broker cannot be reached', { retryable: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const opened = this.#opening?.catch(() => undefined);
    const client = opened && (await within(opened, 0, this.#stop.signal));
    if (client && client !== late) await client.close();
    this.#stop.abort();
  }

  async #openOne(): Promise<BrokerClient> {
    this.#opening ??= this.#open();
    const client = await this.#opening;
    if (client.state.name !== 'closed') return client;
    this.#opening = this.#open();
    return await this.#opening;
  }

  #open(): Promise<BrokerClient> {
    const opening = this.#connect(this.#stop.signal);
    const forget = () => {
      if (this.#opening === opening) this.#opening = undefined;
    };
    opening.then((client) => client.closed.then(forget), forget);
    return opening;
  }
}
