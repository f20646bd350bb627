import type { BrokerClient, CancelSignal } from '@signalbox/client';
import { SignalboxError } from '@signalbox/protocol';
import { late, within } from '@signalbox/serving';

const connectMs = 30_000;

/**
 * The agent's connection under its own address. The agent sends messages over it, so that replies come to its inbox, and reads
 * that inbox over it. It is opened at first use, and again after it was closed for good.
 */
export class MainConnection implements AsyncDisposable {
  readonly #connect: (signal: AbortSignal) => Promise<BrokerClient>;
  readonly #stop = new AbortController();
  #opening: Promise<BrokerClient> | undefined;

  constructor(connect: (signal: AbortSignal) => Promise<BrokerClient>) {
    this.#connect = connect;
  }

  /**
   * Returns the connection. Throws `SignalboxError` with the broker's reason, or `unreachable` if no broker answers within 30 s or before
   * `signal`.
   */
  async client(signal: CancelSignal): Promise<BrokerClient> {
    const client = await within(this.#openClient(), connectMs, signal);
    if (client !== late) return client;
    throw new SignalboxError('unreachable', 'the broker cannot be reached', { retryable: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const opened = this.#opening?.catch(() => undefined);
    const client = opened && (await within(opened, 0, this.#stop.signal));
    if (client && client !== late) await client.close();
    this.#stop.abort();
  }

  async #openClient(): Promise<BrokerClient> {
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
