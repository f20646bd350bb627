import { setTimeout as delay } from 'node:timers/promises';
import { type BrokerClient, connectBroker, type Log, requestAddress } from '@signalbox/client';
import { SignalboxError } from '@signalbox/protocol';
import { newId } from '../new-id.ts';

const pauseMs = 25;
/** The number of messages after which a burst is sent. */
const burstEvery = 20;
const burst = 10;
const deadlineMs = 60_000;

export interface MailboxOptions {
  /** Names sender and reader: `NAME-sender` and `NAME-reader`. */
  name: string;
  brokers: readonly string[];
  /** The authority to trust, as PEM text. */
  ca?: string;
  tokens: ReadonlyMap<string, string>;
  /**
   * Called when a client has done something that was begun at this time, in monotonic milliseconds. `needs`: another client that it needs
   * for it.
   */
  onSuccess: (client: string, startedAt: number, needs: readonly string[]) => void;
  /** Called when a client has lost its connection, or could not open one. */
  onLost: (client: string) => void;
}

/** An agent that sends messages all the time, and one that reads them. Both are connected to any of the brokers. */
export class Mailbox {
  readonly sender: string;
  readonly reader: string;
  /** The messages with a receipt, in the order in which they were sent first. */
  readonly sent: string[] = [];
  /** Messages that were sent again after a refusal: those behind them may have been stored before. */
  readonly repeated = new Set<string>();
  /** The messages that came, in the order in which each came first. */
  readonly received: string[] = [];
  /** Messages that came first behind one that was sent later: what is known of both. */
  readonly disordered: string[] = [];
  /** Messages that came more than once. */
  again = 0;
  /** Messages with more than one ack that was accepted. */
  readonly ackedTwice: string[] = [];
  /** Refusals and other ends of what was tried, by their code. */
  readonly refusals = new Map<string, number>();
  /** Failures without a code. */
  readonly untyped: string[] = [];
  readonly #options: MailboxOptions;
  readonly #came = new Set<string>();
  readonly #acked = new Set<string>();
  /** The time of sending of each message that has not come yet. */
  readonly #startedAt = new Map<string, number>();
  readonly #waiting = new Set<() => void>();
  /** The place of the message among those that were sent. */
  readonly #places = new Map<string, number>();
  #last: { place: number; id: string; seq: number } = { place: -1, id: '', seq: 0 };
  readonly #at: Record<string, number> = {};
  readonly #clients = new Map<string, Promise<BrokerClient>>();
  readonly #sending: Promise<void>;
  readonly #receiving: Promise<void>;
  #isOver = false;
  #isRead = false;

  constructor(options: MailboxOptions) {
    this.#options = options;
    this.sender = `${options.name}-sender`;
    this.reader = `${options.name}-reader`;
    this.#sending = this.#send();
    this.#receiving = this.#receive();
  }

  /** Has the sender or the reader connect to the next broker. */
  async move(agent: string): Promise<void> {
    this.#at[agent] = (this.#at[agent] ?? 0) + 1;
    await this.#close(agent);
  }

  /** Sends no more. Resolves when all that has a receipt came, or the time is over. */
  async finish(timeoutMs: number): Promise<void> {
    this.#isOver = true;
    const timeout = AbortSignal.timeout(timeoutMs);
    const { promise: isLate, resolve } = Promise.withResolvers<void>();
    timeout.addEventListener('abort', () => resolve());
    const { promise: haveCome, resolve: come } = Promise.withResolvers<void>();
    const look = (): void => {
      if (this.sent.every((id) => this.#came.has(id))) come();
    };
    await Promise.race([this.#sending, isLate]);
    this.#waiting.add(look);
    look();
    await Promise.race([haveCome, isLate]);
    this.#isRead = true;
    for (const agent of [this.sender, this.reader]) await this.#close(agent);
    await this.#receiving;
  }

  /** Returns the client of an agent, or a new one if that has ended. Callers that wait share it. */
  #clientOf(agent: string): Promise<BrokerClient> {
    const known = this.#clients.get(agent);
    if (known) return known;
    const next = this.#connect(agent);
    this.#clients.set(agent, next);
    const forget = (): void => {
      if (this.#clients.get(agent) === next) this.#clients.delete(agent);
    };
    next.then((client) => void client.closed.then(forget), forget);
    return next;
  }

  async #close(agent: string): Promise<void> {
    const client = this.#clients.get(agent);
    this.#clients.delete(agent);
    await (await client?.catch(() => undefined))?.close();
  }

  #connect(agent: string): Promise<BrokerClient> {
    const { brokers, ca, tokens, onLost } = this.#options;
    const first = (this.#at[agent] ?? 0) % brokers.length;
    const log: Log = ({ event }) => event === 'disconnected' && onLost(agent);
    return connectBroker({
      url: [...brokers.slice(first), ...brokers.slice(0, first)].join(','),
      random: () => 0,
      ...(ca !== undefined && { ca }),
      token: tokens.get(agent)!,
      agent: agent === this.reader ? agent : requestAddress(agent),
      waitForBroker: true,
      log,
    });
  }

  async #send(): Promise<void> {
    while (!this.#isOver) {
      const many = this.sent.length % burstEvery === 0 ? burst : 1;
      await Promise.all(Array.from({ length: many }, () => this.#sendOne(newId())));
      await delay(pauseMs);
    }
  }

  /** Sends a message until it has its receipt, with the next client if this one ends. */
  async #sendOne(id: string): Promise<void> {
    const startedAt = performance.now();
    this.#startedAt.set(id, startedAt);
    this.#places.set(id, this.sent.push(id));
    for (;;) {
      try {
        const client = await this.#clientOf(this.sender);
        await client.deliver({ id, to: this.reader, kind: 'note', body: { id } }, { timeoutMs: deadlineMs });
        this.#options.onSuccess(this.sender, startedAt, []);
        return;
      } catch (error) {
        this.#failed(error);
        this.repeated.add(id);
        await delay(pauseMs);
      }
    }
  }

  /** Reads with the next client whenever one has ended. */
  async #receive(): Promise<void> {
    while (!this.#isRead) {
      try {
        await this.#read(await this.#clientOf(this.reader));
      } catch (error) {
        this.#failed(error);
        await delay(pauseMs);
      }
    }
  }

  async #read(client: BrokerClient): Promise<void> {
    await using subscription = await client.subscribe();
    for await (const { id, seq } of subscription.messages) {
      if (this.#came.has(id)) this.again++;
      else {
        this.#came.add(id);
        this.received.push(id);
        this.#checkOrder(id, seq!);
        this.#options.onSuccess(this.reader, this.#startedAt.get(id)!, [this.sender]);
        this.#startedAt.delete(id);
        for (const look of this.#waiting) look();
      }
      void client.ack([seq!]).then(
        ({ accepted }) => {
          if (accepted.length > 0 && this.#acked.has(id)) this.ackedTwice.push(id);
          if (accepted.length > 0) this.#acked.add(id);
        },
        (error) => this.#failed(error),
      );
    }
  }

  #checkOrder(id: string, seq: number): void {
    const place = this.#places.get(id)!;
    const last = this.#last;
    if (place > last.place) this.#last = { place, id, seq };
    else if (!this.repeated.has(id) && !this.repeated.has(last.id))
      this.disordered.push(
        `${id} (sent as ${place}, seq ${seq}) came after ${last.id} (sent as ${last.place}, seq ${last.seq})`,
      );
  }

  #failed(error: unknown): void {
    if (error instanceof SignalboxError)
      this.refusals.set(error.code, (this.refusals.get(error.code) ?? 0) + 1);
    else this.untyped.push(String(error));
  }
}
