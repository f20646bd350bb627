import {
  type BrokerFrame,
  type DeliveredFrame,
  type ErrorFrame,
  type Message,
  SignalboxError,
} from '@signalbox/protocol';
import type { Tracing } from '@signalbox/serving/tracing';
import { bodyReader, type ParseBody } from './body-reader.ts';
import type { Log } from './broker-client.ts';
import type { Clock } from './clock.ts';
import { clientError } from './errors.ts';
import { RequesterLane } from './lanes/requester-lane.ts';
import type { ServingLanes } from './lanes/serving-lanes.ts';
import { BrokerCalls } from './requests/broker-calls.ts';
import { DeadlineTable } from './requests/deadline-table.ts';
import { DeliveryTable, type ReceiptFacts } from './requests/delivery-table.ts';
import { RequestTable } from './requests/request-table.ts';
import { EarlyReplies } from './serving/early-replies.ts';
import { InboxSubscription } from './serving/inbox-subscription.ts';
import { MessageRouter } from './serving/message-router.ts';
import { Announcer } from './socket/announcer.ts';
import { HoldsFollower } from './socket/holds-follower.ts';
import { Outbox } from './socket/outbox.ts';
import { RightsFollower } from './socket/rights-follower.ts';
import { Supervisor, type SupervisorOptions } from './socket/supervisor.ts';

/** The supervisor's options without its callbacks, which the parts provide. */
export interface ClientPartsOptions
  extends Omit<
    SupervisorOptions,
    'onConnected' | 'onBrokerReplaced' | 'onFrame' | 'onDisconnected' | 'onClosed'
  > {
  /** See `ConnectOptions.resumes`. */
  resumes: boolean;
  /** See `ConnectOptions.tracing`. */
  tracing: Tracing | undefined;
}

/**
 * The parts of one client, and the events of the connection that each of them receives. The supervisor reports when there is a connection
 * and what comes over it; all parts send through the outbox.
 */
export class ClientParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly parseBody: ParseBody;
  readonly supervisor: Supervisor;
  readonly outbox: Outbox;
  readonly deadlines: DeadlineTable;
  readonly deliveries: DeliveryTable;
  readonly requests: RequestTable;
  readonly calls: BrokerCalls;
  readonly subscription: InboxSubscription;
  readonly router: MessageRouter;
  readonly announcer: Announcer;
  readonly holds: HoldsFollower;
  readonly rights: RightsFollower;
  /** Sends requests to an orchestrator on this machine directly. */
  readonly lane: RequesterLane;
  /** Takes requests from workers on this machine directly, if a serve loop does. */
  servingLanes: ServingLanes | undefined;
  readonly #address: string;

  constructor(options: ClientPartsOptions) {
    const { address, clock, log } = options;
    this.#address = address;
    this.clock = clock;
    this.log = log;
    this.parseBody = bodyReader(() => this.supervisor.welcome);
    this.outbox = new Outbox(clock);
    this.deadlines = new DeadlineTable(clock);
    const deps = { outbox: this.outbox, deadlines: this.deadlines, clock, log };
    this.deliveries = new DeliveryTable(deps);
    this.calls = new BrokerCalls(deps);
    this.announcer = new Announcer(deps);
    this.holds = new HoldsFollower((frame) => this.outbox.control(frame));
    this.rights = new RightsFollower((frame) => this.outbox.control(frame));
    const { tracing } = options;
    this.lane = new RequesterLane({ ...deps, calls: this.calls, address, receiver: () => this.requests });
    this.requests = new RequestTable({
      ...deps,
      lane: this.lane,
      parseBody: this.parseBody,
      deliveries: this.deliveries,
      address,
      tracing,
    });
    const early = options.resumes ? new EarlyReplies(deps) : undefined;
    this.router = new MessageRouter({
      address,
      outbox: this.outbox,
      requests: this.requests,
      early,
      isMember: () => this.subscription.group !== undefined,
      parseBody: this.parseBody,
      log,
    });
    this.subscription = new InboxSubscription({
      ...deps,
      calls: this.calls,
      onPending: () => this.deliveries.pause(),
      onSettled: () => this.deliveries.resume(),
      onRefused: (error) => this.requests.endAll(error),
      onExpelled: (error) => void this.supervisor.stop(error),
    });
    this.supervisor = new Supervisor({
      ...options,
      onConnected: (send) => this.#connected(send),
      onBrokerReplaced: () => {
        this.deliveries.brokerReplaced();
        this.router.brokerReplaced();
      },
      onFrame: (frame, body) => this.#received(frame, body),
      onDisconnected: () => this.#disconnected(),
      onClosed: (reason) => this.#closed(reason),
    });
  }

  /** Throws the reason if the client is closed. */
  requireOpen(): void {
    const { state } = this.supervisor;
    if (state.name === 'closed') throw state.reason ?? clientError('closed', 'the client is closed');
  }

  /** True if the broker has welcomed the present connection. */
  get isConnected(): boolean {
    return this.supervisor.state.name === 'ready';
  }

  #connected(send: (text: string) => void): void {
    this.outbox.attach(send);
    // The holds come before the messages that they affect.
    this.holds.connected();
    this.rights.connected();
    this.calls.connected();
    this.announcer.connected();
    this.lane.connected();
    this.servingLanes?.connected();
    if (!this.subscription.connected()) this.deliveries.resume();
  }

  #disconnected(): void {
    this.outbox.detach();
    this.holds.disconnected();
    this.rights.disconnected();
    this.lane.disconnected();
    this.servingLanes?.disconnected();
    this.subscription.disconnected();
    this.calls.disconnected();
    this.deliveries.disconnected();
    this.announcer.disconnected();
    this.router.leaseLost();
  }

  #closed(reason: SignalboxError | undefined): void {
    const error = reason ?? clientError('closed', 'the client was closed');
    this.outbox.detach();
    this.announcer.disconnected();
    this.lane.close();
    void this.servingLanes?.[Symbol.asyncDispose]();
    this.router.close(reason);
    this.requests.endAll(error);
    this.deliveries.endAll(error);
    this.calls.endAll(error);
    this.subscription.endAll(error);
    this.deadlines.clear();
  }

  #received(frame: BrokerFrame, body: string | undefined): void {
    switch (frame.type) {
      case 'message': {
        const message: Message = frame;
        if (body !== undefined) message.body = body;
        this.router.route(message);
        break;
      }
      case 'delivered':
        this.deliveries.receipted(
          frame.id,
          frame.duplicate ?? false,
          frame.no_consumer ?? false,
          factsOf(frame),
        );
        break;
      case 'cancel':
        this.router.cancel(frame);
        break;
      case 'holds':
        this.holds.received(frame);
        break;
      case 'rights_changed':
        this.rights.changed(frame.agent);
        break;
      case 'lane':
        this.servingLanes?.granted(frame);
        break;
      case 'lanes':
        this.servingLanes?.stand(frame);
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
      case 'cancel_result':
      case 'scheduled':
      case 'connected':
      case 'peeked':
      case 'found':
      case 'audited':
      case 'tokens_checked':
      case 'lane_opened':
      case 'admin_result':
        this.calls.answered(frame);
        break;
      default:
        break;
    }
  }

  #leaseLost(reason: string): void {
    this.log({ event: 'lease_lost', reason });
    if (reason === 'forbidden') {
      const message = `${this.#address} is no longer a member of the group ${this.subscription.group}`;
      void this.supervisor.stop(new SignalboxError('forbidden', message));
      return;
    }
    if (reason === 'taken_over') {
      const message = `another client subscribed to ${this.#address} and holds it now: another program of its agent`;
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
    else if (id !== undefined && !this.deliveries.refused(id, frame))
      this.log({ event: 'refused', id, code });
  }
}

/** Returns the facts that most receipts do not have; `undefined` if this one has none. */
function factsOf({ members, refused, ttl_ms: ttlMs }: DeliveredFrame): ReceiptFacts | undefined {
  if (members === undefined && ttlMs === undefined) return undefined;
  return {
    ...(members !== undefined && { members }),
    ...(refused && { refused }),
    ...(ttlMs !== undefined && { ttlMs }),
  };
}
