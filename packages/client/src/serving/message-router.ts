import {
  type CancelNotice,
  isSubInbox,
  type Message,
  messageOf,
  parseJson,
  type SignalboxError,
} from '@signalbox/protocol';
import type { Log } from '../clock.ts';
import type { ParsedMessage } from '../requests/pending-request.ts';
import type { RequestTable } from '../requests/request-table.ts';
import type { Outbox } from '../socket/outbox.ts';
import type { RequestRunner } from './request-runner.ts';

/** Takes what nobody else does; see `BrokerClient.subscribe`. */
export interface MessageSink {
  push(message: Message): void;
  /** The lease ended: what was pushed and not taken will come again. */
  leaseLost(): void;
  /** Nothing comes any more. */
  end(reason: SignalboxError | undefined): void;
}

export interface MessageRouterPorts {
  address: string;
  outbox: Outbox;
  requests: RequestTable;
  log: Log;
}

/** Decides who gets a message: its waiter, a serve loop, a listener, or the raw subscription. */
export class MessageRouter {
  readonly #ports: MessageRouterPorts;
  #lanes: readonly RequestRunner[] = [];
  readonly #listeners = new Set<(message: ParsedMessage) => void>();
  readonly #sinks = new Set<MessageSink>();
  /** Un-acked messages nobody has taken; the broker's window bounds them. */
  readonly #held = new Map<number, Message>();

  constructor(ports: MessageRouterPorts) {
    this.#ports = ports;
  }

  addLane(lane: RequestRunner): void {
    this.#lanes = [...this.#lanes, lane];
    for (const [seq, message] of this.#held) {
      if (lane.serves(message.kind) && lane.accept(message)) this.#held.delete(seq);
    }
  }

  removeLane(lane: RequestRunner): void {
    this.#lanes = this.#lanes.filter((other) => other !== lane);
  }

  /** The lane that serves a kind, if one does. */
  laneFor(kind: string): RequestRunner | undefined {
    for (const lane of this.#lanes) if (lane.serves(kind)) return lane;
    return undefined;
  }

  addSink(sink: MessageSink): void {
    this.#sinks.add(sink);
    for (const message of this.#held.values()) sink.push(message);
    this.#held.clear();
  }

  removeSink(sink: MessageSink): void {
    this.#sinks.delete(sink);
  }

  addListener(listener: (message: ParsedMessage) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  route(message: Message): void {
    if (this.#ports.requests.take(message)) return;
    const lane = this.laneFor(message.kind);
    if (lane !== undefined) {
      if (!lane.accept(message)) this.hold(message);
      return;
    }
    const { seq } = message;
    if (seq === undefined) this.#announce(message);
    else if (this.#sinks.size > 0) for (const sink of this.#sinks) sink.push(message);
    else this.#leave(seq, message);
  }

  /** Keeps a message un-acked for whoever serves its kind next, here or after the lease. */
  hold(message: Message): void {
    if (message.seq !== undefined) this.#held.set(message.seq, message);
  }

  cancel(notice: CancelNotice): void {
    for (const lane of this.#lanes) lane.cancel(notice);
  }

  /** Un-acked messages come again with the next lease. */
  leaseLost(): void {
    this.#held.clear();
    for (const sink of this.#sinks) sink.leaseLost();
  }

  close(reason: SignalboxError | undefined): void {
    for (const lane of this.#lanes) lane.close();
    for (const sink of this.#sinks) sink.end(reason);
    this.#lanes = [];
    this.#held.clear();
  }

  #announce(message: Message): void {
    const { log } = this.#ports;
    const { id, kind, from } = message;
    if (this.#listeners.size === 0) {
      log({ event: 'unmatched_message', id, kind, from: from.agent, ephemeral: true });
      return;
    }
    try {
      const json = message.body === undefined ? undefined : parseJson(message.body);
      const parsed = Object.assign(message, { json });
      for (const listener of this.#listeners) listener(parsed);
    } catch (error) {
      log({ event: 'listener_failed', id, kind, message: messageOf(error) });
    }
  }

  /** A sub-inbox exists for replies only, so a stray is dead there; on a main inbox somebody may serve it later. */
  #leave(seq: number, message: Message): void {
    const { address, outbox, log } = this.#ports;
    log({ event: 'unmatched_message', id: message.id, kind: message.kind, from: message.from.agent, seq });
    if (isSubInbox(address)) outbox.control({ type: 'nack', seqs: [seq], dead: true, reason: 'unmatched' });
    else this.hold(message);
  }
}
