import {
  agentOf,
  type DeliverFrame,
  isGroup,
  isOperator,
  type Message,
  messageOf,
  parseJson,
  type SignalboxError,
} from '@signalbox/protocol';
import { PassingMap } from '@signalbox/serving';
import type { Tracing } from '@signalbox/serving/tracing';
import { beginReceive, beginSend } from '@signalbox/serving/tracing/internal';
import type { ParseBody } from '../body-reader.ts';
import type { Log, ParsedMessage, RequestOptions, RequestOutcome } from '../broker-client.ts';
import type { Clock } from '../clock.ts';
import { brokerReplacedError, clientError, retryAfterMsOf } from '../errors.ts';
import type { OpenLane } from '../lanes/open-lane.ts';
import type { RequesterLane } from '../lanes/requester-lane.ts';
import type { Outbox } from '../socket/outbox.ts';
import type { DeadlineTable } from './deadline-table.ts';
import type { DeliveryTable } from './delivery-table.ts';
import {
  type ExpectedReply,
  type OnBrokerReplaced,
  type OnRefused,
  PendingRequest,
} from './pending-request.ts';
import { RecentMap } from './recent-map.ts';

export interface RequestTableDeps {
  outbox: Outbox;
  deliveries: DeliveryTable;
  lane: Pick<RequesterLane, 'to'>;
  deadlines: DeadlineTable;
  clock: Clock;
  log: Log;
  parseBody: ParseBody;
  /** The client's own address. */
  address: string;
  tracing: Tracing | undefined;
}

const rememberedRequests = 10_000;
/** The ack of a body of more characters than this does not wait for other frames. */
const ackedAtOnceLength = 64 * 1024;

/**
 * Matches replies to the requests that wait for them. A request outlives the connection: it ends with its reply, at its deadline,
 * when it is aborted, or when the client is closed.
 */
export class RequestTable {
  readonly #deps: RequestTableDeps;
  readonly #pending = new PassingMap<PendingRequest>();
  /** The replies that ended requests expected, so that late and repeated replies can be acked. */
  readonly #ended = new RecentMap<string, ExpectedReply>(rememberedRequests);
  /** The messages that ended requests and are acked later, by the id of the request. */
  readonly #unacked = new Map<string, Message>();
  /** The reply that the newest request expects. Most requests in a row expect the same, so that they share one object (ADR 10). */
  #lastExpected: ExpectedReply | undefined;

  constructor(deps: RequestTableDeps) {
    this.#deps = deps;
  }

  /** Sends a request whose header was checked and whose body is encoded. */
  start(frame: DeliverFrame, body: string | undefined, options: RequestOptions): Promise<RequestOutcome> {
    if (options.signal?.aborted) return Promise.resolve({ status: 'cancelled', mayHaveRun: false });
    if (this.#pending.has(frame.id)) {
      const error = clientError(
        'invalid_message',
        `a request with the id '${frame.id}' is under way; use another id`,
      );
      return Promise.resolve({ status: 'not_sent', error, mayHaveRun: false });
    }
    return new Promise((resolve) => this.#start(frame, body, options, resolve));
  }

  /** Returns true if the message belongs to a request of this client, pending or ended, and was dealt with. */
  take(message: Message): boolean {
    const id = message.correlation_id;
    if (id === undefined) return false;
    const request = this.#pending.get(id);
    if (request === undefined) return this.#takeLate(id, message);
    if (message.kind === request.expected.replyKind && isFrom(message, request.expected)) {
      this.#complete(request, message);
    } else if (message.kind === 'undeliverable' && message.from.agent === 'broker') {
      this.#undeliverable(request, message);
    } else if (isProgress(message) && isFrom(message, request.expected)) {
      this.#progress(request, message);
    } else {
      const { id, kind, from } = message;
      this.#deps.log({ event: 'reply_mismatch', id, kind, from: from.agent });
      return false;
    }
    return true;
  }

  /** Ends every request, because the client was closed or the broker refused its subscription. */
  endAll(error: SignalboxError): void {
    for (const request of this.#pending.values()) {
      const mayHaveRun = request.hasLeft;
      this.#end(
        request,
        mayHaveRun
          ? { status: 'connection_lost', mayHaveRun, error }
          : { status: 'not_sent', error, mayHaveRun },
      );
    }
  }

  /** Takes what came on a lane. */
  received(message: Message, lane: OpenLane): void {
    const id = message.correlation_id!;
    if (this.#pending.get(id)?.lane === lane) this.take(message);
    // Nobody waits for the reply any more.
    else if (message.kind !== 'progress') lane.ack(id);
  }

  /** Sends a request through the broker that its recipient has not begun on a lane. */
  notBegun(id: string, lane: OpenLane): void {
    const request = this.#pending.get(id);
    if (request?.lane !== lane) return;
    request.lane = undefined;
    this.#deliver(request, request.body);
  }

  /** Sends requests through the broker whose lane was lost before their replies. */
  lost(ids: readonly string[], lane: OpenLane, epoch: string | undefined): void {
    for (const id of ids) {
      const request = this.#pending.get(id);
      if (request?.lane !== lane) continue;
      request.lane = undefined;
      request.mayHaveBegun = true;
      this.#deliver(request, JSON.stringify(request.options.onLane?.(epoch)));
    }
  }

  #deliver(owner: PendingRequest, body: string | undefined): void {
    const { frame, expiresAt } = owner;
    owner.delivery = this.#deps.deliveries.add({ frame, body, owner, expiresAt, endsWhenSent: false });
  }

  #start(
    frame: DeliverFrame,
    body: string | undefined,
    options: RequestOptions,
    resolve: PendingRequest['resolve'],
  ): void {
    const { deadlines, clock, lane, tracing, address } = this.#deps;
    const expiresAt = clock.now() + options.timeoutMs;
    const request = new PendingRequest(
      this.#refused,
      this.#brokerReplaced,
      frame,
      options,
      this.#expect(frame, options),
      resolve,
    );
    if (tracing !== undefined && options.ephemeral !== true) {
      request.span = beginSend(tracing, frame, address, tracing.active());
      frame.traceparent = request.span.traceparent;
    }
    request.expiresAt = expiresAt;
    request.deadline = deadlines.add(expiresAt, () => this.#giveUp(request, 'timed_out'));
    this.#pending.add(frame.id, request);
    const { signal } = options;
    if (signal !== undefined) {
      request.onAbort = () => this.#giveUp(request, 'cancelled');
      signal.addEventListener('abort', request.onAbort, { once: true });
    }
    request.lane = options.onLane && lane.to(frame.to, body, options.laneEpoch);
    if (request.lane && body !== undefined) {
      request.body = body;
      const isFirst = options.isFirst ?? options.id === undefined;
      request.lane.request(frame, body, { remainingMs: options.timeoutMs, isFirst });
      request.span?.end();
    } else this.#deliver(request, body);
  }

  #expect({ to, kind }: DeliverFrame, options: RequestOptions): ExpectedReply {
    const agent = isGroup(to) ? undefined : agentOf(to);
    const replyKind = options.replyKind ?? (kind === 'mcp_request' ? 'mcp_reply' : 'reply');
    const last = this.#lastExpected;
    if (last !== undefined && last.agent === agent && last.replyKind === replyKind) return last;
    this.#lastExpected = { agent, replyKind };
    return this.#lastExpected;
  }

  readonly #refused: OnRefused = (request, error, mayBeStored) => {
    if (request.options.ephemeral === true && error.code === 'no_consumer') {
      request.refusal = error;
      return true;
    }
    const mayHaveRun = mayBeStored || request.isReceipted || request.mayHaveBegun;
    if (!mayHaveRun && this.#waitsForRate(request, error)) {
      request.refusal = error;
      return true;
    }
    // A retryable refusal doesn't tell what became of an earlier sending; only a receipt or a reply does.
    if (mayHaveRun && error.retryable) return true;
    this.#end(
      request,
      mayHaveRun
        ? { status: 'connection_lost', mayHaveRun, error }
        : { status: 'rejected', error, mayHaveRun },
    );
    return false;
  };

  #waitsForRate({ options, expiresAt }: PendingRequest, error: SignalboxError): boolean {
    if (options.waitsForRate !== true || error.code !== 'rate_limited') return false;
    return this.#deps.clock.now() + (retryAfterMsOf(error) ?? 0) < expiresAt;
  }

  readonly #brokerReplaced: OnBrokerReplaced = (request) => {
    // An ephemeral request is a read without effect.
    if (request.options.ephemeral === true) return true;
    const error = brokerReplacedError(request.frame);
    this.#end(request, { status: 'connection_lost', mayHaveRun: true, error });
    return false;
  };

  /** Acks a reply that came after the end of its request, or again because its ack was lost. */
  #takeLate(id: string, message: Message): boolean {
    const ended = this.#ended.get(id);
    if (ended === undefined) return false;
    const { kind, from } = message;
    const isReply = (kind === ended.replyKind || isProgress(message)) && isFrom(message, ended);
    if (!isReply && !(kind === 'undeliverable' && from.agent === 'broker')) return false;
    // A message that came again in a new lease is acked there.
    if (this.#unacked.get(id)?.id === message.id) this.#unacked.set(id, message);
    else this.#ack(message);
    return true;
  }

  #complete(request: PendingRequest, message: Message): void {
    let json: unknown;
    try {
      json = message.body === undefined ? undefined : this.#deps.parseBody(message.body);
    } catch (error) {
      this.#deps.log({ event: 'bad_body', id: message.id, message: messageOf(error) });
      if (message.seq !== undefined) {
        this.#deps.outbox.control({ type: 'nack', seqs: [message.seq], dead: true, reason: 'bad_body' });
      }
      request.lane?.ack(request.frame.id);
      this.#traceEnd(request, message, 'bad_body');
      this.#end(request, { status: 'undeliverable', reason: 'bad_body', mayHaveRun: true });
      return;
    }
    this.#traceEnd(request, message);
    this.#ackEnd(request, message);
    const parsed = message as ParsedMessage;
    parsed.json = json;
    this.#end(request, { status: 'completed', reply: parsed, mayHaveRun: true });
  }

  #undeliverable(request: PendingRequest, message: Message): void {
    this.#ackEnd(request, message);
    const why = readUndeliverable(message.body);
    this.#traceEnd(request, message, why.reason);
    this.#end(request, { status: 'undeliverable', ...why });
  }

  /** Makes the span of the message that ends a request. It belongs to what its sender did, or, if that is not known, to the request. */
  #traceEnd(request: PendingRequest, message: Message, errorType?: string): void {
    const { tracing, address } = this.#deps;
    if (tracing === undefined || request.span === undefined) return;
    const { traceparent = request.span.traceparent } = message;
    beginReceive(tracing, { ...message, traceparent }, address).end(errorType);
  }

  #progress(request: PendingRequest, message: Message): void {
    const { onProgress } = request.options;
    if (onProgress === undefined) return;
    try {
      onProgress(message.body === undefined ? undefined : this.#deps.parseBody(message.body));
    } catch (error) {
      this.#deps.log({ event: 'listener_failed', kind: message.kind, message: messageOf(error) });
    }
  }

  #giveUp(request: PendingRequest, status: 'timed_out' | 'cancelled'): void {
    const { frame, options, refusal } = request;
    const mayHaveRun = request.hasLeft;
    if (status === 'timed_out' && refusal !== undefined && !mayHaveRun) {
      this.#end(request, { status: 'rejected', error: refusal, mayHaveRun });
      return;
    }
    if (request.lane) request.lane.cancel(frame.id);
    else if (mayHaveRun && options.ephemeral !== true) this.#deps.outbox.cancel(frame.to, frame.id);
    this.#end(request, { status, mayHaveRun });
  }

  /** Acks the message that ends a request, when its requester wants that. */
  #ackEnd({ frame: { id }, lane, options }: PendingRequest, message: Message): void {
    if (lane) {
      const ack = (): void => lane.ack(id);
      if (options.ackAfter === undefined) ack();
      else options.ackAfter.then(ack, ack);
      return;
    }
    if (options.ackAfter === undefined) {
      this.#ack(message);
      return;
    }
    this.#unacked.set(id, message);
    const ack = (): void => {
      const newest = this.#unacked.get(id);
      this.#unacked.delete(id);
      if (newest !== undefined) this.#ack(newest);
    };
    options.ackAfter.then(ack, ack);
  }

  /** Acks a message. The ack of a large one leaves at once, because the bytes that are not acked are bounded, too. */
  #ack({ seq, body = '' }: Message): void {
    if (seq === undefined) return;
    if (body.length > ackedAtOnceLength) this.#deps.outbox.ack(seq);
    else this.#deps.outbox.ackLater(seq);
  }

  #end(request: PendingRequest, outcome: RequestOutcome): void {
    const { frame, options, onAbort, delivery } = request;
    if (this.#pending.take(frame.id) === undefined) return;
    if (request.deadline !== undefined) this.#deps.deadlines.cancel(request.deadline);
    if (onAbort !== undefined) options.signal?.removeEventListener('abort', onAbort);
    if (delivery !== undefined) this.#deps.deliveries.drop(delivery);
    request.span?.end(failureOf(outcome));
    this.#ended.set(frame.id, request.expected);
    request.resolve(outcome);
  }
}

/** Returns the code of a request that did not end with a reply. */
function failureOf(outcome: RequestOutcome): string | undefined {
  if (outcome.status === 'completed') return undefined;
  return outcome.status === 'rejected' || outcome.status === 'not_sent' ? outcome.error.code : outcome.status;
}

/**
 * Returns true if a message comes from the agent whose reply is expected, or from an operator in place of another one. The broker takes a
 * reply to a request of a group only from a member that took the request.
 */
function isFrom({ from }: Message, { agent }: ExpectedReply): boolean {
  return agent === undefined || from.agent === agent || (from.role === 'operator' && isOperator(agent));
}

function isProgress(message: Message): boolean {
  return message.kind === 'progress' && message.seq === undefined;
}

/** Reads the body of the broker's `undeliverable`: `{reason, may_have_run?, detail?}`. Without `may_have_run`, it may have run. */
function readUndeliverable(body: string | undefined): {
  reason: string;
  detail?: string;
  mayHaveRun: boolean;
} {
  try {
    const parsed = body === undefined ? undefined : parseJson(body);
    if (parsed !== null && typeof parsed === 'object') {
      const reason = 'reason' in parsed && typeof parsed.reason === 'string' ? parsed.reason : 'unknown';
      return {
        reason,
        ...('detail' in parsed && typeof parsed.detail === 'string' && { detail: parsed.detail }),
        mayHaveRun: !('may_have_run' in parsed && parsed.may_have_run === false),
      };
    }
  } catch {
    // The message itself says that the request has ended; without its body the reason stays unknown.
  }
  return { reason: 'unknown', mayHaveRun: true };
}
