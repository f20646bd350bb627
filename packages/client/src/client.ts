import {
  agentOf,
  type ConnectedAgent,
  type Message,
  messageOf,
  SignalboxError,
  type WelcomeFrame,
} from '@signalbox/protocol';
import type {
  AckResult,
  BrokerClient,
  DeliverCallOptions,
  ServeLoop,
  ServeOptions,
} from './broker-client.ts';
import { ClientCore, type CoreOptions } from './client-core.ts';
import { clientError } from './errors.ts';
import {
  checkHeader,
  checkId,
  deliverFrame,
  encodeBody,
  type Outgoing,
  outgoingFrame,
} from './requests/outgoing.ts';
import type { ParsedMessage, RequestOptions, RequestOutcome } from './requests/pending-request.ts';
import { awaitReceipt, type Receipt, type ReceiptPorts } from './requests/receipt.ts';
import type { ServeHandler } from './serving/accepted-request.ts';
import type { SubscribeOptions } from './serving/inbox-subscription.ts';
import { MessageStream, type Subscription } from './serving/message-stream.ts';
import { RequestRunner } from './serving/request-runner.ts';
import { chunks } from './socket/outbox.ts';
import type { ClientState } from './socket/supervisor.ts';

const defaultConcurrency = 64;
const defaultDeliverTimeoutMs = 30_000;

export interface ClientOptions extends CoreOptions {
  newId: () => string;
}

/** The client's face over its parts. */
export class Client implements BrokerClient {
  readonly address: string;
  readonly #newId: () => string;
  readonly #core: ClientCore;
  readonly #receiptPorts: ReceiptPorts;
  #checkedTo: string | undefined;
  #checkedKind: string | undefined;

  constructor(options: ClientOptions) {
    this.address = options.address;
    this.#newId = options.newId;
    this.#core = new ClientCore(options);
    const { deliveries, deadlines, clock } = this.#core;
    this.#receiptPorts = {
      deliveries,
      deadlines,
      now: clock.now,
      isConnected: () => this.state.name === 'ready',
    };
  }

  get agent(): string {
    return agentOf(this.address);
  }

  get welcome(): WelcomeFrame {
    return this.#core.supervisor.welcome!;
  }

  get role(): string {
    return this.welcome.role;
  }

  get state(): ClientState {
    return this.#core.supervisor.state;
  }

  get closed(): Promise<SignalboxError | undefined> {
    return this.#core.supervisor.closed;
  }

  /** Resolves at the first welcome; the client is usable only then. */
  async start(): Promise<this> {
    await this.#core.supervisor.start();
    return this;
  }

  onState(listener: (state: ClientState) => void): () => void {
    return this.#core.supervisor.onState(listener);
  }

  // No async function: what it awaits is a promise already, and every message would pay for a second one.
  deliver(message: Outgoing, options: DeliverCallOptions = {}): Promise<Receipt> {
    const { timeoutMs = defaultDeliverTimeoutMs, signal } = options;
    try {
      const body = this.#checked(message.to, message.kind, message.id, message.body);
      const frame = outgoingFrame(message, message.id ?? this.#newId());
      return awaitReceipt({ frame, body, timeoutMs, signal }, this.#receiptPorts);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  request(to: string, kind: string, body: unknown, options: RequestOptions): Promise<RequestOutcome> {
    let text: string | undefined;
    try {
      text = this.#checked(to, kind, options.id, body);
    } catch (thrown) {
      const error =
        thrown instanceof SignalboxError ? thrown : clientError('invalid_message', messageOf(thrown));
      return Promise.resolve({ status: 'not_sent', error, mayHaveRun: false });
    }
    this.#core.subscription.want();
    const frame = deliverFrame(to, options.id ?? this.#newId(), kind, { ephemeral: options.ephemeral });
    return this.#core.requests.start(frame, text, options);
  }

  /**
   * The text of the body of a message that may be sent. What was found good is not looked at again while it stays the
   * same; an id of our own making is good.
   */
  #checked(to: string, kind: string, id: string | undefined, body: unknown): string | undefined {
    this.#core.requireOpen();
    if (id !== undefined) checkId(id);
    if (to !== this.#checkedTo || kind !== this.#checkedKind) {
      checkHeader(to, kind);
      this.#checkedTo = to;
      this.#checkedKind = kind;
    }
    return encodeBody(body, this.welcome.limits);
  }

  async serve(
    kinds: readonly string[],
    handler: ServeHandler,
    options: ServeOptions = {},
  ): Promise<ServeLoop> {
    this.#core.requireOpen();
    const taken = kinds.find((kind) => this.#core.router.laneFor(kind) !== undefined);
    if (taken !== undefined) throw clientError('invalid_message', `the kind '${taken}' is served already`);
    const { concurrency = defaultConcurrency, badBody, tellsStart, ...subscribeOptions } = options;
    const { outbox, deliveries, deadlines, clock, log, subscription, router } = this.#core;
    const ports = { outbox, deliveries, deadlines, clock, log };
    const lane = new RequestRunner(
      { kinds, handler, concurrency, badBody, tellsStart },
      {
        ...ports,
        newId: this.#newId,
        epoch: () => subscription.epoch,
        giveBack: (message) => router.hold(message),
      },
    );
    router.addLane(lane);
    const stop = async (): Promise<void> => {
      await lane.stop();
      router.removeLane(lane);
      outbox.flush();
    };
    try {
      const subscribed = await subscription.ensure(subscribeOptions);
      return {
        subscribed,
        stop,
        get inFlight() {
          return lane.inFlight;
        },
        [Symbol.asyncDispose]: stop,
      };
    } catch (error) {
      router.removeLane(lane);
      throw error;
    }
  }

  onMessage(listener: (message: ParsedMessage) => void): () => void {
    this.#core.subscription.want();
    return this.#core.router.addListener(listener);
  }

  async subscribe(options: SubscribeOptions = {}): Promise<Subscription> {
    this.#core.requireOpen();
    const messages = new MessageStream(() => this.#core.router.removeSink(messages));
    this.#core.router.addSink(messages);
    const dispose = async (): Promise<void> => messages.end(undefined);
    try {
      const subscribed = await this.#core.subscription.ensure(options);
      return { subscribed, messages, [Symbol.asyncDispose]: dispose };
    } catch (error) {
      await dispose();
      throw error;
    }
  }

  ack(seqs: readonly number[]): Promise<AckResult> {
    return this.#settle(seqs, (part) => this.#core.calls.call({ type: 'ack', seqs: part }));
  }

  nack(
    seqs: readonly number[],
    options: { delayMs?: number; dead?: boolean; reason?: string } = {},
  ): Promise<AckResult> {
    const { delayMs, dead, reason } = options;
    return this.#settle(seqs, (part) =>
      this.#core.calls.call({
        type: 'nack',
        seqs: part,
        ...(delayMs !== undefined && { delay_ms: delayMs }),
        ...(dead !== undefined && { dead }),
        ...(reason !== undefined && { reason }),
      }),
    );
  }

  working(seqs: readonly number[]): void {
    for (const seq of seqs) this.#core.outbox.working(seq);
  }

  cancel(to: string, correlationId: string): void {
    if (this.state.name !== 'closed') this.#core.outbox.cancel(to, correlationId);
  }

  announce(status: unknown): void {
    this.#core.announcer.announce(status);
  }

  async listConnected(options: { role?: string; withStatus?: boolean } = {}): Promise<ConnectedAgent[]> {
    const { role, withStatus } = options;
    const agents: ConnectedAgent[] = [];
    let cursor: string | undefined;
    do {
      this.#core.requireOpen();
      const page = await this.#core.calls.call(
        {
          type: 'list_connected',
          ...(role !== undefined && { role }),
          ...(withStatus === true && { with_status: true }),
          ...(cursor !== undefined && { cursor }),
        },
        { repeatable: true },
      );
      agents.push(...page.agents);
      cursor = page.cursor;
    } while (cursor !== undefined);
    return agents;
  }

  async peek(options: { address?: string; after?: number; limit?: number } = {}): Promise<Message[]> {
    this.#core.requireOpen();
    const { messages } = await this.#core.calls.call({ type: 'peek', ...options }, { repeatable: true });
    return messages.map(({ body, ...header }) => ({ ...header, ...(body !== undefined && { body }) }));
  }

  async admin(op: string, params?: Record<string, unknown>): Promise<unknown> {
    this.#core.requireOpen();
    const answer = await this.#core.calls.call({
      type: 'admin',
      op,
      ...(params !== undefined && { params }),
    });
    return answer.result;
  }

  async close(): Promise<void> {
    if (this.state.name !== 'closed') this.#core.outbox.flush();
    await this.#core.supervisor.stop(undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #settle(seqs: readonly number[], send: (part: number[]) => Promise<AckResult>): Promise<AckResult> {
    this.#core.requireOpen();
    const result: AckResult = { accepted: [], rejected: [] };
    for (const part of chunks(seqs)) {
      const answer = this.state.name === 'ready' ? await lostAsRejected(part, send(part)) : undefined;
      result.accepted.push(...(answer?.accepted ?? []));
      result.rejected.push(...(answer?.rejected ?? part));
    }
    return result;
  }
}

/** An ack whose answer was lost with the connection counts as rejected: the message is delivered again if it did not count. */
async function lostAsRejected(part: number[], answer: Promise<AckResult>): Promise<AckResult> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof SignalboxError && error.code === 'connection_lost') {
      return { accepted: [], rejected: part };
    }
    throw error;
  }
}
