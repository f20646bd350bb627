import type { BrokerFrame, ErrorFrame, Message, SignalboxError } from '@signalbox/protocol';
import { Announcer } from './announcer.ts';
import { CallTable } from './call-table.ts';
import type { Clock, Log } from './clock.ts';
import { DeadlineTable } from './deadline-table.ts';
import { DeliverQueue } from './deliver-queue.ts';
import { clientError } from './errors.ts';
import { MessageRouter } from './message-router.ts';
import { Outbox } from './outbox.ts';
import { OwnSubscription } from './own-subscription.ts';
import { RequestTable } from './request-table.ts';
import { Supervisor, type SupervisorOptions } from './supervisor.ts';

export type CoreOptions = Omit<SupervisorOptions, 'onConnected' | 'onFrame' | 'onDisconnected' | 'onClosed'>;

/** Wires the parts together: what the socket says goes to the tables, what the tables say goes to the outbox. */
export class ClientCore {
  readonly clock: Clock;
  readonly log: Log;
  readonly supervisor: Supervisor;
  readonly outbox: Outbox;
  readonly deadlines: DeadlineTable;
  readonly delivers: DeliverQueue;
  readonly requests: RequestTable;
  readonly calls: CallTable;
  readonly subscription: OwnSubscription;
  readonly router: MessageRouter;
  readonly announcer: Announcer;
  readonly #address: string;

  constructor(options: CoreOptions) {
    const { address, clock, log } = options;
    this.#address = address;
    this.clock = clock;
    this.log = log;
    this.outbox = new Outbox(clock.now);
    this.deadlines = new DeadlineTable(clock);
    const ports = { outbox: this.outbox, deadlines: this.deadlines, clock, log };
    this.delivers = new DeliverQueue(ports);
    this.calls = new CallTable(ports);
    this.announcer = new Announcer(ports);
    this.requests = new RequestTable({ ...ports, delivers: this.delivers });
    this.router = new MessageRouter({ address, outbox: this.outbox, requests: this.requests, log });
    this.subscription = new OwnSubscription({
      ...ports,
      calls: this.calls,
      onPending: () => this.delivers.pause(),
      onSettled: () => this.delivers.resume(),
      onRefused: (error) => this.requests.endAll(error),
    });
    this.supervisor = new Supervisor({
      ...options,
      onConnected: (send) => this.#connected(send),
      onFrame: (frame, body) => this.#frame(frame, body),
      onDisconnected: () => this.#disconnected(),
      onClosed: (reason) => this.#ended(reason),
    });
  }

  requireOpen(): void {
    const { state } = this.supervisor;
    if (state.name === 'closed') throw state.reason ?? clientError('closed', 'the client is closed');
  }

  #connected(send: (text: string) => void): void {
    this.outbox.attach(send);
    this.calls.connected();
    this.announcer.connected();
    if (!this.subscription.connected()) this.delivers.resume();
  }

  #disconnected(): void {
    this.outbox.detach();
    this.subscription.disconnected();
    this.calls.disconnected();
    this.delivers.disconnected();
    this.announcer.disconnected();
    this.router.leaseLost();
  }

  #ended(reason: SignalboxError | undefined): void {
    const error = reason ?? clientError('closed', 'the client was closed');
    this.outbox.detach();
    this.announcer.disconnected();
    this.router.close(reason);
    this.requests.endAll(error);
    this.delivers.endAll(error);
    this.calls.endAll(error);
    this.subscription.endAll(error);
    this.deadlines.clear();
  }

  #frame(frame: BrokerFrame, body: string | undefined): void {
    switch (frame.type) {
      case 'message': {
        const message: Message = frame;
        if (body !== undefined) message.body = body;
        this.router.route(message);
        break;
      }
      case 'delivered':
        this.delivers.receipted(frame.id, frame.duplicate ?? false);
        break;
      case 'cancel':
        this.router.cancel(frame);
        break;
      case 'lease_lost':
        this.#leaseLost(frame.reason);
        break;
      case 'error':
        this.#refused(frame);
        break;
      case 'subscribed':
        this.subscription.answered(frame);
        this.calls.answered(frame);
        break;
      case 'ack_result':
      case 'connected':
      case 'peeked':
      case 'admin_result':
        this.calls.answered(frame);
        break;
      default:
        break;
    }
  }

  #leaseLost(reason: string): void {
    this.log({ event: 'lease_lost', reason });
    if (reason === 'taken_over') {
      const message = `another client subscribed to ${this.#address} and holds it now`;
      void this.supervisor.stop(clientError('taken_over', message));
      return;
    }
    this.router.leaseLost();
    this.subscription.leaseLost();
  }

  #refused(frame: ErrorFrame): void {
    const { id, code } = frame;
    if (frame.request_id !== undefined) this.calls.refused(frame.request_id, frame);
    // Of the frames without an id of any kind only `announce` has a rate.
    else if (id === undefined && code === 'rate_limited') this.announcer.refused(frame.retry_after_ms ?? 0);
    else if (id !== undefined && !this.delivers.refused(id, frame)) this.log({ event: 'refused', id, code });
  }
}
