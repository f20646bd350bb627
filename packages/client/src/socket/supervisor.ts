import type { Duplex } from 'node:stream';
import {
  type BrokerAddress,
  type BrokerFrame,
  messageOf,
  SignalboxError,
  type WelcomeFrame,
} from '@signalbox/protocol';
import type { WebSocket } from 'ws';
import type { ClientState, Log } from '../broker-client.ts';
import type { Clock } from '../clock.ts';
import { clientError, noBrokerReached, retryAfterMsOf } from '../errors.ts';
import { ReconnectPacer } from './backoff.ts';
import { Connection, type Loss } from './connection.ts';
import { openWebSocket } from './open-web-socket.ts';

export interface SupervisorOptions {
  /** The addresses of the broker, at least one. */
  brokers: readonly BrokerAddress[];
  /** The certificates of the only authorities to trust, as PEM text. */
  ca: string | undefined;
  /** Opens the connection in place of a socket. */
  openSocket: (() => Duplex) | undefined;
  token: string;
  renewToken: (() => Promise<string | undefined>) | undefined;
  address: string;
  connectTimeoutMs: number;
  /** True: a first connection that failed is tried again. */
  waitForBroker: boolean;
  signal: AbortSignal | undefined;
  clock: Clock;
  log: Log;
  /** Called when the broker has welcomed a connection; `send` sends over it. */
  onConnected(send: (text: string) => void): void;
  /** Called before `onConnected` if the connection leads to another broker than the one before. */
  onBrokerReplaced(): void;
  onFrame(frame: BrokerFrame, body: string | undefined): void;
  onDisconnected(): void;
  onClosed(reason: SignalboxError | undefined): void;
}

/** The longest attempt at one address, in milliseconds, while another one was not tried in the round: that broker may be up. */
const attemptMs = 3_000;

/**
 * Owns the connection: opens it at one of the addresses, opens it again at the next one after it was lost, and decides when to stop for
 * good.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #pacer: ReconnectPacer;
  readonly #listeners = new Set<(state: ClientState) => void>();
  readonly #closed = Promise.withResolvers<SignalboxError | undefined>();
  readonly #first = Promise.withResolvers<WelcomeFrame>();
  /** The index of the address that is used or tried. */
  #at: number;
  /** The attempts of this round that failed. */
  #failed: Loss[] = [];
  #state: ClientState = { name: 'connecting' };
  #connection: Connection | undefined;
  #welcome: WelcomeFrame | undefined;
  #cancelRetry: (() => void) | undefined;
  #token: string;
  #abort = (): void => {
    const cause: unknown = this.#options.signal?.reason;
    void this.stop(clientError('aborted', 'the connection was ended by its AbortSignal', { cause }));
  };

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#token = options.token;
    const { brokers, clock } = options;
    // Clients begin at a random address, which spreads them over the brokers.
    this.#at = brokers.length > 1 ? Math.floor(clock.random() * brokers.length) : 0;
    this.#pacer = new ReconnectPacer(brokers.length);
  }

  /** The state of the client. */
  get state(): ClientState {
    return this.#state;
  }

  /** The address that is used or tried. */
  get url(): string {
    return this.#options.brokers[this.#at]!.url;
  }

  /** The newest welcome; `undefined` before the first. */
  get welcome(): WelcomeFrame | undefined {
    return this.#welcome;
  }

  /** Resolves when the supervisor has stopped for good, with the reason unless the owner stopped it. */
  get closed(): Promise<SignalboxError | undefined> {
    return this.#closed.promise;
  }

  /** Calls `listener` at each change of the state; returns a function that removes it. */
  onState(listener: (state: ClientState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Connects. Resolves at the first welcome; rejects if the supervisor stops before. */
  start(): Promise<WelcomeFrame> {
    const { signal } = this.#options;
    if (signal?.aborted) {
      this.#abort();
    } else {
      signal?.addEventListener('abort', this.#abort, { once: true });
      this.#dial();
    }
    return this.#first.promise;
  }

  /** Stops for good; resolves when the socket is closed. */
  async stop(reason: SignalboxError | undefined): Promise<void> {
    const connection = this.#connection;
    this.#finish(reason);
    await connection?.close();
  }

  #dial(): void {
    const { brokers, ca, openSocket, address, connectTimeoutMs, clock, log, onFrame } = this.#options;
    const broker = brokers[this.#at]!;
    let socket: WebSocket;
    try {
      socket = openWebSocket(broker, { ca, openSocket });
    } catch (error) {
      if (!(error instanceof SignalboxError)) throw error;
      this.#lost({ error, final: !error.retryable && 'address', uptimeMs: 0, reconnectAfterMs: 0 });
      return;
    }
    const connection = new Connection({
      socket,
      url: broker.url,
      token: this.#token,
      address,
      timeoutMs: this.#pacer.isRoundOver ? connectTimeoutMs : Math.min(connectTimeoutMs, attemptMs),
      clock,
      log,
      onWelcome: (welcome) => this.#connected(connection, welcome),
      onFrame,
      onLost: (loss) => this.#lost(loss),
    });
    this.#connection = connection;
  }

  #connected(connection: Connection, welcome: WelcomeFrame): void {
    const earlier = this.#welcome?.broker_id;
    this.#welcome = welcome;
    this.#failed = [];
    this.#options.log({ event: 'connected', brokerId: welcome.broker_id, address: welcome.address });
    if (earlier !== undefined && earlier !== welcome.broker_id) {
      this.#options.log({ event: 'broker_replaced', brokerId: welcome.broker_id, earlier });
      this.#options.onBrokerReplaced();
    }
    this.#options.onConnected((text) => connection.send(text));
    this.#first.resolve(welcome);
    this.#setState({ name: 'ready' });
  }

  #lost(loss: Loss): void {
    const { renewToken, clock } = this.#options;
    this.#connection = undefined;
    this.#pacer.lost(loss.uptimeMs, clock.now());
    this.#failed.push(loss);
    if (loss.error.code === 'unauthorized' && renewToken) void this.#renew(loss, renewToken);
    else if (loss.final === 'client') this.#finish(loss.error);
    else if (this.#pacer.isRoundOver) this.#roundFailed(loss);
    else this.#retry(loss);
  }

  /** Begins another round after the last attempt of one, if that can help. */
  #roundFailed(last: Loss): void {
    const failed = this.#failed;
    this.#failed = [];
    const isFirst = this.#welcome === undefined;
    const isHopeless = failed.every(
      ({ final }) => final === 'address' || (isFirst && final === 'address at first'),
    );
    if (isHopeless || (isFirst && !this.#options.waitForBroker))
      this.#finish(noBrokerReached(failed.map(({ error }) => error)));
    else this.#retry(last);
  }

  /** Stops for good because the token was refused, unless the owner has another by now. */
  async #renew(loss: Loss, renewToken: () => Promise<string | undefined>): Promise<void> {
    this.#options.onDisconnected();
    const renewed = await renewToken().catch((error) => {
      this.#options.log({ event: 'token_not_renewed', reason: messageOf(error) });
      return undefined;
    });
    if (this.#state.name === 'closed') return;
    if (renewed === undefined || renewed === this.#token) return this.#finish(loss.error);
    this.#token = renewed;
    this.#retry(loss);
  }

  #retry(loss: Loss): void {
    const { brokers, clock, log } = this.#options;
    // Another broker may accept the client.
    const askedMs = this.#pacer.isRoundOver ? (retryAfterMsOf(loss.error) ?? 0) : 0;
    const delayMs = askedMs + this.#pacer.nextDelayMs(clock.now(), clock.random(), loss.reconnectAfterMs);
    this.#at = (this.#at + 1) % brokers.length;
    log({ event: 'disconnected', code: loss.error.code, message: loss.error.message, retryInMs: delayMs });
    this.#cancelRetry = clock.startTimer(() => this.#dial(), delayMs);
    this.#options.onDisconnected();
    if (this.#welcome) this.#setState({ name: 'reconnecting' });
  }

  #finish(reason: SignalboxError | undefined): void {
    if (this.#state.name === 'closed') return;
    this.#cancelRetry?.();
    this.#connection = undefined;
    this.#options.signal?.removeEventListener('abort', this.#abort);
    this.#options.log({ event: 'closed', ...(reason && { code: reason.code, message: reason.message }) });
    this.#state = { name: 'closed', reason };
    this.#options.onClosed(reason);
    this.#first.reject(reason ?? clientError('closed', 'the client was closed'));
    this.#closed.resolve(reason);
    this.#setState(this.#state);
  }

  #setState(state: ClientState): void {
    if (this.#state.name === state.name && state.name !== 'closed') return;
    this.#state = state;
    for (const listener of this.#listeners) {
      try {
        listener(state);
      } catch (error) {
        this.#options.log({ event: 'listener_failed', error });
      }
    }
  }
}
