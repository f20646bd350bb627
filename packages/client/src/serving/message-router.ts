import {
  type CancelNotice,
  isSubInbox,
  type Message,
  messageOf,
  type SignalboxError,
} from '@signalbox/protocol';
import type { ParseBody } from '../body-reader.ts';
import type { Log, ParsedMessage } from '../broker-client.ts';
import type { RequestTable } from '../requests/request-table.ts';
import type { Outbox } from '../socket/outbox.ts';
import { type EarlyReplies, unmatchedReason } from './early-replies.ts';
import type { RequestRunner } from './request-runner.ts';

/** Takes the stored messages that no request and no serve loop takes; see `BrokerClient.subscribe`. */
export interface MessageSink {
  push(message: Message): void;
  /** Called when the lease has ended: messages that were pushed and not taken will come again. */
  leaseLost(): void;
  /** Called when nothing will come any more. */
  end(reason: SignalboxError | undefined): void;
}

/** The time for which a member of a group keeps a message that it does not serve, before the message is handed to another member. */
const unservedDelayMs = 1000;

export interface MessageRouterDeps {
  address: string;
  outbox: Outbox;
  requests: RequestTable;
  /** Keeps the replies to requests that are to be repeated; without it there are none. */
  early: EarlyReplies | undefined;
  /** Returns true if the client takes messages of a group. */
  isMember: () => boolean;
  parseBody: ParseBody;
  log: Log;
}

/** Decides where an incoming message goes: to a pending request, a serve loop, the listeners, or the subscriptions. */
export class MessageRouter {
  readonly #deps: MessageRouterDeps;
  #runners: readonly RequestRunner[] = [];
  readonly #listeners = new Set<(message: ParsedMessage) => void>();
  readonly #sinks = new Set<MessageSink>();
  /** Un-acked messages that nothing has taken, by `seq`; the broker's window bounds them. */
  readonly #held = new Map<number, Message>();

  constructor(deps: MessageRouterDeps) {
    this.#deps = deps;
  }

  /** Passes a message on to the first that takes it. */
  route(message: Message): void {
    if (this.#deps.requests.take(message)) return;
    const runner = this.runnerFor(message.kind);
    if (runner !== undefined) {
      if (!runner.accept(message)) this.hold(message);
      return;
    }
    const { seq } = message;
    if (seq === undefined) this.#callListeners(message);
    else if (this.#sinks.size > 0) for (const sink of this.#sinks) sink.push(message);
    else this.#unmatched(seq, message);
  }

  /** Ends a request that was just started, if its reply came before it. */
  claimReply(requestId: string): void {
    const message = this.#deps.early?.take(requestId);
    if (message?.seq !== undefined && !this.#deps.requests.take(message))
      this.#unmatched(message.seq, message);
  }

  /** Passes a cancel on to the serve loops. */
  cancel(notice: CancelNotice): void {
    for (const runner of this.#runners) runner.cancel(notice);
  }

  /** Keeps a message un-acked for the next one that serves its kind, here or after the lease. */
  hold(message: Message): void {
    if (message.seq !== undefined) this.#held.set(message.seq, message);
  }

  /** Adds a serve loop, which gets the held messages of its kinds at once. */
  addRunner(runner: RequestRunner): void {
    this.#runners = [...this.#runners, runner];
    for (const [seq, message] of this.#held) {
      if (runner.serves(message.kind) && runner.accept(message)) this.#held.delete(seq);
    }
  }

  /** Removes a serve loop. */
  removeRunner(runner: RequestRunner): void {
    this.#runners = this.#runners.filter((other) => other !== runner);
  }

  /** Returns the runner that serves a kind, if one does. */
  runnerFor(kind: string): RequestRunner | undefined {
    for (const runner of this.#runners) if (runner.serves(kind)) return runner;
    return undefined;
  }

  /** Adds a subscription, which gets all held messages at once. */
  addSink(sink: MessageSink): void {
    this.#sinks.add(sink);
    for (const message of this.#held.values()) sink.push(message);
    this.#held.clear();
  }

  /** Removes a subscription. */
  removeSink(sink: MessageSink): void {
    this.#sinks.delete(sink);
  }

  /** Adds a listener for ephemeral messages; returns a function that removes it. */
  addListener(listener: (message: ParsedMessage) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Forgets the messages that are held: the un-acked ones come again with the next lease. */
  leaseLost(): void {
    this.#deps.early?.clear();
    this.#held.clear();
    for (const sink of this.#sinks) sink.leaseLost();
  }

  /** Tells the serve loops that another broker answers from now on. */
  brokerReplaced(): void {
    for (const runner of this.#runners) runner.brokerReplaced();
  }

  /** Ends all serve loops and subscriptions, because the client is closed. */
  close(reason: SignalboxError | undefined): void {
    for (const runner of this.#runners) runner.close();
    for (const sink of this.#sinks) sink.end(reason);
    this.#deps.early?.clear();
    this.#runners = [];
    this.#held.clear();
  }

  #callListeners(message: Message): void {
    const { log, parseBody } = this.#deps;
    const { id, kind, from } = message;
    if (this.#listeners.size === 0) {
      log({ event: 'unmatched_message', id, kind, from: from.agent, ephemeral: true });
      return;
    }
    try {
      const json = message.body === undefined ? undefined : parseBody(message.body);
      const parsed = Object.assign(message, { json });
      for (const listener of this.#listeners) listener(parsed);
    } catch (error) {
      log({ event: 'listener_failed', id, kind, message: messageOf(error) });
    }
  }

  /**
   * On a main inbox a message may be served later. A sub-inbox exists for replies only, so there it is given back for good. A message of a
   * group is given back, since another member may serve its kind.
   */
  #unmatched(seq: number, message: Message): void {
    const { address, outbox, early, isMember, log } = this.#deps;
    if (early?.keep(message)) return;
    log({ event: 'unmatched_message', id: message.id, kind: message.kind, from: message.from.agent, seq });
    if (isMember()) {
      const reason = `the member that got it does not serve kind '${message.kind}'`;
      outbox.control({ type: 'nack', seqs: [seq], delay_ms: unservedDelayMs, reason });
    } else if (isSubInbox(address))
      outbox.control({ type: 'nack', seqs: [seq], dead: true, reason: unmatchedReason });
    else this.hold(message);
  }
}
