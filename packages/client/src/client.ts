import {
  type AdminOp,
  type AdminParams,
  type AdminResult,
  type AuditReport,
  agentOf,
  type ConnectedAgent,
  type FindFrame,
  type FoundState,
  foundStates,
  frameLimits,
  messageOf,
  type OrchestratorFigures,
  type PeekedMessage,
  parseAdminResult,
  type RecipientState,
  type ScheduledMessageInfo,
  SignalboxError,
  type WelcomeFrame,
} from '@signalbox/protocol';
import type { TracedSpan, Tracing } from '@signalbox/serving/tracing';
import { beginSend, validTraceparent } from '@signalbox/serving/tracing/internal';
import type {
  AckResult,
  BrokerClient,
  ClientState,
  DeliverCallOptions,
  ListScheduledOptions,
  Outgoing,
  ParsedMessage,
  PeekOptions,
  Receipt,
  RequestOptions,
  RequestOutcome,
  ServeHandler,
  ServeLoop,
  ServeOptions,
  SubscribeOptions,
  Subscription,
} from './broker-client.ts';
import { ClientParts, type ClientPartsOptions } from './client-parts.ts';
import { clientError } from './errors.ts';
import { ServingLanes } from './lanes/serving-lanes.ts';
import { isRequestAddress } from './request-address.ts';
import {
  checkHeader,
  checkId,
  checkThread,
  deliverFrame,
  encodeBody,
  outgoingFrame,
} from './requests/outgoing.ts';
import { awaitReceipt } from './requests/receipt.ts';
import { defaultAckDeadlineMs } from './serving/inbox-subscription.ts';
import { MessageStream } from './serving/message-stream.ts';
import { RequestRunner } from './serving/request-runner.ts';
import type { HoldsListener } from './socket/holds-follower.ts';
import { chunks } from './socket/outbox.ts';
import type { RightsListener } from './socket/rights-follower.ts';

const defaultConcurrency = 64;
/** The number of times that a member of a group renews a message within its ack deadline. */
const renewalsPerDeadline = 3;
const defaultDeliverTimeoutMs = 30_000;

export interface ClientOptions extends ClientPartsOptions {
  newId: () => string;
}

/** The public methods of a client, in terms of its parts. */
export class Client implements BrokerClient {
  readonly address: string;
  readonly #newId: () => string;
  readonly #tracing: Tracing | undefined;
  readonly #parts: ClientParts;

  constructor(options: ClientOptions) {
    this.address = options.address;
    this.#newId = options.newId;
    this.#tracing = options.tracing;
    this.#parts = new ClientParts(options);
  }

  get agent(): string {
    return agentOf(this.address);
  }

  get welcome(): WelcomeFrame {
    return this.#parts.supervisor.welcome!;
  }

  get role(): string {
    return this.welcome.role;
  }

  get url(): string {
    return this.#parts.supervisor.url;
  }

  get state(): ClientState {
    return this.#parts.supervisor.state;
  }

  get closed(): Promise<SignalboxError | undefined> {
    return this.#parts.supervisor.closed;
  }

  /** Resolves at the first welcome; the client is usable only then. */
  async start(): Promise<this> {
    await this.#parts.supervisor.start();
    return this;
  }

  onState(listener: (state: ClientState) => void): () => void {
    return this.#parts.supervisor.onState(listener);
  }

  // Not an async function: every message would pay for a second promise.
  deliver(message: Outgoing, options: DeliverCallOptions = {}): Promise<Receipt> {
    const { timeoutMs = defaultDeliverTimeoutMs, signal } = options;
    try {
      if (message.thread !== undefined) checkThread(message.thread);
      const body = this.#checkedBody(message.to, message.kind, message.id, message.body);
      const frame = outgoingFrame(message, message.id ?? this.#newId());
      const span =
        this.#tracing && message.ephemeral !== true
          ? beginSend(this.#tracing, frame, this.address, this.#tracing.active())
          : undefined;
      if (span !== undefined) frame.traceparent = span.traceparent;
      const receipt = awaitReceipt({ frame, body, timeoutMs, signal }, this.#parts);
      return span === undefined ? receipt : endedWith(span, receipt);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  request(to: string, kind: string, body: unknown, options: RequestOptions): Promise<RequestOutcome> {
    let text: string | undefined;
    try {
      if (options.thread !== undefined) checkThread(options.thread);
      text = this.#checkedBody(to, kind, options.id, body);
      this.#requireReplies();
    } catch (thrown) {
      const error =
        thrown instanceof SignalboxError ? thrown : clientError('invalid_message', messageOf(thrown));
      return Promise.resolve({ status: 'not_sent', error, mayHaveRun: false });
    }
    this.#parts.subscription.want();
    const frame = deliverFrame(to, options.id ?? this.#newId(), kind, { ephemeral: options.ephemeral });
    frame.traceparent = validTraceparent(options.traceparent);
    if (options.thread !== undefined) frame.thread = options.thread;
    const outcome = this.#parts.requests.start(frame, text, options);
    if (options.id !== undefined) this.#parts.router.claimReply(options.id);
    return outcome;
  }

  /** Throws if replies to this client's requests could not reach it. */
  #requireReplies(): void {
    const { group } = this.#parts.subscription;
    if (group === undefined) return;
    const message = `this client takes messages of ${group} and gets no replies; send requests with another one`;
    throw clientError('invalid_message', message);
  }

  /** Returns the body as JSON text. Throws if the client is closed, or the broker would refuse such a message. */
  #checkedBody(to: string, kind: string, id: string | undefined, body: unknown): string | undefined {
    this.#parts.requireOpen();
    if (id !== undefined) checkId(id);
    checkHeader(to, kind);
    return encodeBody(body, this.welcome.limits);
  }

  async serve(
    kinds: readonly string[],
    handler: ServeHandler,
    options: ServeOptions = {},
  ): Promise<ServeLoop> {
    this.#parts.requireOpen();
    const { outbox, deliveries, deadlines, clock, log, parseBody, subscription, router } = this.#parts;
    const taken = kinds.find((kind) => router.runnerFor(kind) !== undefined);
    if (taken !== undefined)
      throw clientError('invalid_message', `the kind '${taken}' is served already; stop that loop first`);
    const { readsBody, tellsStart, concurrency: given, lanes: path, ...rest } = options;
    const isMember = rest.group !== undefined;
    if (!isMember && isRequestAddress(this.address)) {
      const own = `connect another client with agent: '${this.agent}', and serve with that`;
      throw clientError(
        'invalid_message',
        `nobody sends requests to '${this.address}', where the replies to this client come: ${own}`,
      );
    }
    const concurrency = given ?? (isMember ? 1 : defaultConcurrency);
    // A member takes only as many messages as it works on: another member may be idle.
    const subscribeOptions = isMember ? { ...rest, window: concurrency } : rest;
    const renewMs = isMember ? (rest.ackDeadlineMs ?? defaultAckDeadlineMs) / renewalsPerDeadline : undefined;
    const runner = new RequestRunner(
      { kinds, handler, concurrency, readsBody, tellsStart, renewMs },
      {
        outbox,
        deliveries,
        deadlines,
        clock,
        log,
        parseBody,
        newId: this.#newId,
        address: this.address,
        tracing: this.#tracing,
        epoch: () => subscription.epoch,
        waitedBefore: (seq) => subscription.waitedBefore(seq),
        giveBack: (message) => router.hold(message),
      },
    );
    router.addRunner(runner);
    const lanes =
      path === undefined
        ? undefined
        : new ServingLanes({
            ...{ path, address: this.address, runner, clock, log },
            send: (frame) => outbox.control(frame),
            epoch: () => subscription.journalEpoch,
          });
    const stop = async (): Promise<void> => {
      if (isMember && this.state.name !== 'closed') void subscription.ensure({ window: 0 }).catch(() => {});
      lanes?.stop();
      await runner.stop();
      await lanes?.[Symbol.asyncDispose]();
      this.#parts.servingLanes = undefined;
      router.removeRunner(runner);
      outbox.flush();
    };
    try {
      const subscribed = await subscription.ensure(subscribeOptions);
      await lanes?.listen();
      this.#parts.servingLanes = lanes;
      return {
        subscribed,
        stop,
        get inFlight() {
          return runner.inFlight;
        },
        [Symbol.asyncDispose]: stop,
      };
    } catch (error) {
      router.removeRunner(runner);
      throw error;
    }
  }

  onMessage(listener: (message: ParsedMessage) => void): () => void {
    this.#parts.subscription.want();
    return this.#parts.router.addListener(listener);
  }

  async subscribe(options: SubscribeOptions = {}): Promise<Subscription> {
    this.#parts.requireOpen();
    const { router, subscription } = this.#parts;
    const messages = new MessageStream(() => router.removeSink(messages));
    router.addSink(messages);
    const dispose = async (): Promise<void> => messages.end(undefined);
    try {
      const subscribed = await subscription.ensure(options);
      const setWindow = async (window: number): Promise<void> => {
        if (subscription.group === undefined)
          throw clientError('invalid_message', 'only the window of a group can be changed');
        await subscription.ensure({ window });
      };
      return { subscribed, messages, setWindow, [Symbol.asyncDispose]: dispose };
    } catch (error) {
      await dispose();
      throw error;
    }
  }

  ack(seqs: readonly number[]): Promise<AckResult> {
    return this.#settle(seqs, (part) => this.#parts.calls.call({ type: 'ack', seqs: part }));
  }

  nack(
    seqs: readonly number[],
    options: { delayMs?: number; dead?: boolean; counts?: boolean; reason?: string } = {},
  ): Promise<AckResult> {
    const { delayMs, dead, counts, reason } = options;
    return this.#settle(seqs, (part) =>
      this.#parts.calls.call({
        type: 'nack',
        seqs: part,
        ...(delayMs !== undefined && { delay_ms: delayMs }),
        ...(dead !== undefined && { dead }),
        ...(counts !== undefined && { counts }),
        ...(reason !== undefined && { reason }),
      }),
    );
  }

  working(seqs: readonly number[], traceparent?: string): void {
    for (const seq of seqs) this.#parts.outbox.working(seq, traceparent);
  }

  cancel(to: string, correlationId: string): void {
    if (this.state.name !== 'closed') this.#parts.outbox.cancel(to, correlationId);
  }

  async withdraw(to: string, correlationId: string): Promise<void> {
    this.#parts.requireOpen();
    await this.#parts.calls.call({ type: 'cancel', to, correlation_id: correlationId }, { repeatable: true });
  }

  async listScheduled({ limit = 100, ...query }: ListScheduledOptions = {}): Promise<ScheduledMessageInfo[]> {
    const messages: ScheduledMessageInfo[] = [];
    let cursor: string | undefined;
    do {
      this.#parts.requireOpen();
      const page = await this.#parts.calls.call(
        {
          type: 'list_scheduled',
          ...query,
          limit: Math.min(limit - messages.length, frameLimits.peekMessages),
          ...(cursor !== undefined && { cursor }),
        },
        { repeatable: true },
      );
      messages.push(...page.messages);
      cursor = page.cursor;
    } while (cursor !== undefined && messages.length < limit);
    return messages;
  }

  async cancelScheduled({
    to,
    id,
    sender = this.agent,
  }: {
    to: string;
    id: string;
    sender?: string;
  }): Promise<number> {
    this.#parts.requireOpen();
    const answer = await this.#parts.calls.call({ type: 'cancel', to, correlation_id: id, sender });
    return answer.scheduled;
  }

  announce(status: unknown): void {
    this.#parts.announcer.announce(status);
  }

  announceFailure(how: string): void {
    this.#parts.announcer.failed(how);
  }

  async listConnected(options: { role?: string; withStatus?: boolean } = {}): Promise<ConnectedAgent[]> {
    const { role, withStatus } = options;
    const agents: ConnectedAgent[] = [];
    let cursor: string | undefined;
    do {
      this.#parts.requireOpen();
      const page = await this.#parts.calls.call(
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

  async findRecipient(agent: string): Promise<{ connections: ConnectedAgent[]; state?: RecipientState }> {
    this.#parts.requireOpen();
    const { agents, recipient } = await this.#parts.calls.call(
      { type: 'list_connected', agent, with_status: true },
      { repeatable: true },
    );
    return { connections: agents, ...(recipient && { state: recipient }) };
  }

  async peek({ onHeldBack, ...options }: PeekOptions = {}): Promise<PeekedMessage[]> {
    this.#parts.requireOpen();
    const { messages, held_back: heldBack } = await this.#parts.calls.call(
      { type: 'peek', ...options },
      { repeatable: true },
    );
    if (heldBack !== undefined) onHeldBack?.(heldBack);
    return messages as PeekedMessage[];
  }

  async find(requests: readonly FindFrame['requests'][number][]): Promise<FoundState[]> {
    this.#parts.requireOpen();
    const states: string[] = [];
    for (let at = 0; at < requests.length; at += frameLimits.findRequests) {
      const part = requests.slice(at, at + frameLimits.findRequests);
      const found = await this.#parts.calls.call({ type: 'find', requests: part }, { repeatable: true });
      states.push(...found.states);
    }
    // A newer broker may name a state that this client does not know: it counts as `open`.
    return requests.map((_, i) => foundStates.find((known) => known === states[i]) ?? 'open');
  }

  async audit(batch: string, events: readonly AuditReport[], sentAt?: number): Promise<void> {
    this.#parts.requireOpen();
    const sent = sentAt === undefined ? {} : { sent_at: sentAt };
    await this.#parts.calls.call(
      { type: 'audit', batch, ...sent, events: [...events] },
      { repeatable: true },
    );
  }

  reportMetrics(problems: readonly string[], figures: OrchestratorFigures): void {
    this.#parts.outbox.control({ type: 'metrics', problems: [...problems] }, JSON.stringify(figures));
  }

  async checkTokens({
    agents = [],
    deciders = [],
  }: Parameters<BrokerClient['checkTokens']>[0]): ReturnType<BrokerClient['checkTokens']> {
    this.#parts.requireOpen();
    const { minters, decide } = await this.#parts.calls.call(
      {
        type: 'check_tokens',
        agents: [...agents],
        deciders: deciders.map(({ tokenId, role }) => ({ token_id: tokenId, role })),
      },
      { repeatable: true },
    );
    return { minters: minters.map((one) => (one === '' ? undefined : one)), decide };
  }

  onHolds(listener: HoldsListener): () => void {
    this.#parts.requireOpen();
    return this.#parts.holds.add(listener);
  }

  onRights(listener: RightsListener): () => void {
    this.#parts.requireOpen();
    return this.#parts.rights.add(listener);
  }

  followRights(agents: readonly string[]): void {
    this.#parts.rights.follow(agents);
  }

  onLane(listener: (epoch: string | undefined) => void): () => void {
    this.#parts.requireOpen();
    return this.#parts.lane.onLane(listener);
  }

  async admin<Op extends AdminOp>(op: Op, params: AdminParams<Op>): Promise<AdminResult<Op>> {
    this.#parts.requireOpen();
    const answer = await this.#parts.calls.call({ type: 'admin', op, params });
    return parseAdminResult(op, answer.result);
  }

  async close(): Promise<void> {
    if (this.state.name !== 'closed') this.#parts.outbox.flush();
    await this.#parts.supervisor.stop(undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Acks or nacks in as many frames as it takes. Without a connection all are rejected. */
  async #settle(seqs: readonly number[], send: (part: number[]) => Promise<AckResult>): Promise<AckResult> {
    this.#parts.requireOpen();
    const result: AckResult = { accepted: [], rejected: [] };
    for (const part of chunks(seqs)) {
      const answer = this.#parts.isConnected ? await lostAsRejected(part, send(part)) : undefined;
      result.accepted.push(...(answer?.accepted ?? []));
      result.rejected.push(...(answer?.rejected ?? part));
    }
    return result;
  }
}

/** Ends the span of a message that was sent, when its receipt comes or the wait for it ends. */
async function endedWith(span: TracedSpan, receipt: Promise<Receipt>): Promise<Receipt> {
  try {
    const received = await receipt;
    span.end();
    return received;
  } catch (error) {
    span.end(error instanceof SignalboxError ? error.code : 'internal');
    throw error;
  }
}

/** Counts an ack whose answer was lost with the connection as rejected: a message that it missed is delivered again. */
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
