import { deepStrictEqual } from 'node:assert/strict';
import { connectWire, startTestBroker, type TestBroker, type WireClient } from '@signalbox/testing';
import { barrier } from '../support/broker/wire-actions.ts';
import { BrokerModel, briefMs, type ModelMessage } from './broker-model.ts';
import type { BrokerOp, Connection, SenderName } from './broker-ops.ts';
import { answerOf, expectCounted } from './wire-answers.ts';

const startedAt = 1_700_000_000_000;
/** Steps of the wall clock: longer than a brief message lives, shorter than others do. */
const steps = { back: -3_600_000, forward: 8 * 86_400_000 };

/** Faults that a test injects, to show that the model notices them. */
export interface InjectedFaults {
  /** The frames that are sent in place of one. */
  deliver?: (frame: Record<string, unknown>) => Record<string, unknown>[];
  /** Pretends that an ack was taken. */
  forgetsAck?: () => boolean;
}

const agents = ['alice', 'carol', 'bob'] as const;

/** A running broker, the clients that meet on the inbox `bob`, and the model beside it. */
export class BrokerUnderTest implements AsyncDisposable {
  readonly model = new BrokerModel();
  /** The sum of the steps of the broker's wall clock, in milliseconds. The model counts lifetimes without steps. */
  steppedBy = 0;
  readonly #steps = new Set<string>();
  readonly #broker: TestBroker;
  readonly #tokens = new Map<string, string>();
  readonly #senders = new Map<string, WireClient>();
  readonly #recipients = new Map<Connection, WireClient>();
  readonly #injected: InjectedFaults;
  readonly #timeoutMs: number;
  #holder: WireClient | undefined;
  /** The number of the holder's frames that were checked. */
  #seen = 0;
  #serial = 0;
  readonly #pushed: ModelMessage[] = [];
  #moved = 0;

  private constructor(broker: TestBroker, injected: InjectedFaults, timeoutMs: number) {
    this.#broker = broker;
    this.#injected = injected;
    this.#timeoutMs = timeoutMs;
  }

  static async open(injected: InjectedFaults = {}, timeoutMs = 30_000): Promise<BrokerUnderTest> {
    const clock: { tested?: BrokerUnderTest } = {};
    const broker = await startTestBroker({
      durability: 'process',
      now: () => (clock.tested?.model.now ?? startedAt) + (clock.tested?.steppedBy ?? 0),
      monotonic: () => clock.tested?.model.now ?? startedAt,
    });
    const tested = new BrokerUnderTest(broker, injected, timeoutMs);
    clock.tested = tested;
    for (const agent of agents) tested.#tokens.set(agent, await broker.token(agent));
    await tested.#connectSenders();
    return tested;
  }

  async step(op: BrokerOp): Promise<void> {
    switch (op.op) {
      case 'deliver':
        await this.#deliver(op);
        break;
      case 'subscribe':
        await this.#subscribe(op.as, op.window);
        break;
      case 'ack':
      case 'nack':
      case 'kill':
        if (this.#pushed.length > 0) await this.settle(op.op, op.as, this.pushed(op.pick));
        break;
      case 'reply':
        await this.#reply(op);
        break;
      case 'cancel':
        await this.cancel(op.sender, op.id);
        break;
      case 'leave':
        await this.#leave(op.as);
        break;
      case 'advance':
        // Not past the dedupe window: from there on the contract leaves the broker a choice.
        if (this.#moved + op.ms > 540_000) return;
        this.#moved += op.ms;
        this.model.now += op.ms;
        break;
      case 'step':
        // Each once: what lives for days must not be over when a leap is trusted.
        if (this.#steps.has(op.how)) return;
        this.#steps.add(op.how);
        this.steppedBy += steps[op.how];
        if (op.how === 'forward') this.model.leap();
        break;
      case 'restart':
        await this.restart();
        break;
    }
    await this.compare();
  }

  /** The holder has what the contract owes it, all of it allowed, and nothing else. */
  async compare(): Promise<void> {
    const holder = this.#holder;
    if (!holder) return;
    this.#look(holder);
    const until = Date.now() + this.#timeoutMs;
    while (this.model.inFlight.size < this.model.owed()) {
      if (Date.now() > until) {
        throw new Error(
          `the holder has ${this.model.inFlight.size} messages and is owed ${this.model.owed()}`,
        );
      }
      await barrier(holder, `b${this.#serial++}`);
      this.#look(holder);
    }
    await barrier(holder, `b${this.#serial++}`);
    this.#look(holder);
    deepStrictEqual(this.model.inFlight.size, this.model.owed(), 'the holder has more than its window');
  }

  /** Everything that has a receipt reaches the newest lease, and after that and a restart is known by its id for ever. */
  async finish(): Promise<void> {
    await this.#subscribe(0, 100);
    await this.compare();
    for (const message of [...this.model.inFlight]) await this.settle('ack', 0, message);
    await this.compare();
    await this.restart();
    await this.#subscribe(1, 100);
    for (const { sender, id, kind, body, settled } of this.model.messages.values()) {
      if (!settled) continue;
      const [answer] = await this.#send(sender, { to: 'bob', id, kind }, body);
      deepStrictEqual(answer, 'duplicate', `${sender} ${id} is not recognised after its end`);
    }
    await this.compare();
    const replied = [...this.model.messages.values()].filter(({ replyId }) => replyId !== undefined);
    for (const sender of ['alice', 'carol']) {
      const client = this.#senders.get(sender)!;
      client.send({ type: 'peek', request_id: 'end', limit: 1000 });
      const { messages } = await client.next('peeked', { request_id: 'end' });
      const replies = (messages as { id: string; kind: string }[]).filter(({ kind }) => kind === 'reply');
      const expected = replied.filter((message) => message.sender === sender).map(({ replyId }) => replyId);
      deepStrictEqual(replies.map(({ id }) => id).sort(), expected.sort());
    }
  }

  async restart(): Promise<void> {
    await this.#broker.restart();
    this.#recipients.clear();
    this.#holder = undefined;
    await this.#connectSenders();
    const bob = await this.#recipient(0);
    bob.send({ type: 'peek', request_id: 'p', limit: 1000 });
    const { messages } = await bob.next('peeked');
    const waiting = (messages as { id: string; from: { agent: string } }[]).map(
      ({ id, from }) => `${from.agent} ${id}`,
    );
    deepStrictEqual(new Set(waiting).size, waiting.length, 'a message is stored twice');
    this.model.restart(new Set(waiting));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const clients = [...this.#senders.values(), ...this.#recipients.values()];
    await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
    await this.#broker[Symbol.asyncDispose]();
  }

  /** Takes in what the holder was pushed, and judges each message. */
  #look(holder: WireClient): void {
    for (; this.#seen < holder.received.length; this.#seen++) {
      const frame = holder.received[this.#seen]!;
      if (frame.type === 'message') this.#remember(this.model.pushed(frame));
    }
  }

  #remember(message: ModelMessage): void {
    if (!this.#pushed.includes(message)) this.#pushed.push(message);
  }

  async #deliver(op: Extract<BrokerOp, { op: 'deliver' }>): Promise<void> {
    const { sender, id, kind, body, brief } = op;
    const allowed = this.model.deliver(op);
    const header = { to: 'bob', id, kind, ttl_ms: brief ? briefMs : 1e9 };
    const frames = this.#injected.deliver?.(header) ?? [header];
    for (const answer of await this.#send(sender, frames[0]!, body, frames.slice(1))) {
      if (!allowed.includes(answer as never)) {
        throw new Error(`deliver of ${sender} ${id}: ${answer}; allowed: ${allowed.join(', ')}`);
      }
    }
  }

  /** Sends the frame, or the frames that an injected fault sends instead, and returns the answer to the first. */
  async #send(
    sender: SenderName,
    header: Record<string, unknown>,
    body: string,
    more: Record<string, unknown>[] = [],
  ): Promise<[string]> {
    const client = this.#senders.get(sender)!;
    for (const frame of [header, ...more]) client.send({ type: 'deliver', ...frame }, body);
    for (const { id } of more) await client.next(['delivered', 'error'], { id });
    return [answerOf(await client.next(['delivered', 'error'], { id: header.id }))];
  }

  async #subscribe(as: Connection, window: number): Promise<void> {
    const client = await this.#recipient(as);
    const previous = this.#holder;
    if (previous) this.#look(previous);
    this.model.endLease();
    const request_id = `s${this.#serial++}`;
    client.send({ type: 'subscribe', request_id, window });
    await client.next('subscribed', { request_id });
    if (previous && previous !== client) {
      deepStrictEqual((await previous.next('lease_lost')).reason, 'taken_over');
    }
    this.#holder = client;
    this.model.window = window;
    this.#seen = client.received.findIndex((frame) => frame.request_id === request_id) + 1;
  }

  /** Settles a message from one of the connections; only that of the holder counts. */
  async settle(op: 'ack' | 'nack' | 'kill', as: Connection, message: ModelMessage): Promise<void> {
    const client = await this.#recipient(as);
    const counts = client === this.#holder && this.model.inFlight.has(message);
    if (op === 'ack' && this.#injected.forgetsAck?.() !== true) {
      const request_id = `a${this.#serial++}`;
      client.send({ type: 'ack', seqs: [message.seq], request_id });
      expectCounted(await client.next('ack_result', { request_id }), message.seq!, counts);
    } else if (op !== 'ack') {
      const request_id = `n${this.#serial++}`;
      client.send({ type: 'nack', seqs: [message.seq], request_id, dead: op === 'kill', reason: 'no' });
      if (counts && op === 'nack') this.model.nack(message);
      expectCounted(await client.next('ack_result', { request_id }), message.seq!, counts);
    }
    if (counts && op !== 'nack') this.model.settle(message, op === 'kill');
  }

  /**
   * A reply is stored once, while its request is open. With `settles`, which only the holder may say, the request is gone with the commit
   * that stores the reply; it goes as well when there is a reply already.
   */
  async #reply({ as, pick, replyId, settles }: Extract<BrokerOp, { op: 'reply' }>): Promise<void> {
    const asked = this.#pushed.filter(({ kind }) => kind === 'ask');
    const request = asked[pick % Math.max(asked.length, 1)];
    if (!request) return;
    // Whether it waits still, or has expired, is the broker's to decide.
    if (!settles && !request.settled && request.expiresAt <= this.model.now) return;
    const client = await this.#recipient(as);
    const { id, sender, seq } = request;
    const reply = { to: sender, id: `${replyId}:${id}`, kind: 'reply', correlation_id: id };
    client.send({ type: 'deliver', ...reply, settles: settles ? seq : undefined }, '"reply"');
    const answer = answerOf(await client.next(['delivered', 'error'], { id: reply.id }));
    if (settles && client !== this.#holder) {
      deepStrictEqual(answer, 'no_lease');
      return;
    }
    const allowed = this.model.reply(request, reply.id);
    // How long an acked request stays open is a matter of the wall clock.
    if (this.#steps.size > 0 && request.replyId === undefined) allowed.push('delivered', 'already_answered');
    if (!allowed.includes(answer as never)) {
      throw new Error(`reply to ${sender} ${id}: ${answer}; allowed: ${allowed.join(', ')}`);
    }
    if (answer === 'delivered') request.replyId = reply.id;
    if (settles || answer === 'already_answered') this.model.settle(request);
  }

  /** A cancel has no answer; what it means for the model is known when the broker has handled it. */
  async cancel(sender: SenderName, id: string): Promise<void> {
    const client = this.#senders.get(sender)!;
    client.send({ type: 'cancel', to: 'bob', correlation_id: id });
    await barrier(client, `c${this.#serial++}`);
    if (!this.model.cancel(sender, id) || !this.#holder) return;
    const notice = await this.#holder.next('cancel', { correlation_id: id });
    deepStrictEqual((notice.from as { agent: string }).agent, sender);
  }

  async #leave(as: Connection): Promise<void> {
    const client = this.#recipients.get(as);
    if (!client) return;
    this.#recipients.delete(as);
    client.socket.close();
    await client.closed;
    if (client !== this.#holder) return;
    this.#look(client);
    this.#holder = undefined;
    this.model.endLease();
  }

  /** The n-th of the messages that were pushed to anybody so far, round and round. */
  pushed(n: number): ModelMessage {
    return this.#pushed[n % this.#pushed.length]!;
  }

  async #recipient(as: Connection): Promise<WireClient> {
    const known = this.#recipients.get(as);
    if (known) return known;
    const client = await this.#connect('bob');
    this.#recipients.set(as, client);
    return client;
  }

  async #connectSenders(): Promise<void> {
    for (const sender of ['alice', 'carol']) this.#senders.set(sender, await this.#connect(sender));
  }

  #connect(agent: string): Promise<WireClient> {
    return connectWire(this.#broker.url, { agent, token: this.#tokens.get(agent)! });
  }
}

/** Resolves if a broker of its own agrees with the model over these operations. */
export async function agrees(
  ops: readonly BrokerOp[],
  injected?: InjectedFaults,
  timeoutMs?: number,
): Promise<void> {
  await using tested = await BrokerUnderTest.open(injected, timeoutMs);
  for (const op of ops) await tested.step(op);
  await tested.finish();
}
