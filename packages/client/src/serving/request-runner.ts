import { type CancelNotice, type Message, messageOf, replyIdOf } from '@signalbox/protocol';
import { PassingMap } from '@signalbox/serving';
import type { Tracing } from '@signalbox/serving/tracing';
import { beginProcess, beginSend } from '@signalbox/serving/tracing/internal';
import type { ParseBody } from '../body-reader.ts';
import {
  handBack,
  type ReplyEnd,
  type ServeAnswer,
  type ServedReply,
  type ServeFailure,
  type ServeHandler,
} from '../broker-client.ts';
import type { LaneRunner, ServedLane } from '../lanes/served-lane.ts';
import { type SentReply, UnreadReplies } from '../lanes/unread-replies.ts';
import type { DeadlineTable } from '../requests/deadline-table.ts';
import { deliverFrame } from '../requests/outgoing.ts';
import { RecentMap } from '../requests/recent-map.ts';
import { AcceptedRequest, type AcceptedRequestDeps } from './accepted-request.ts';
import { EarlyCancels } from './early-cancels.ts';
import {
  jsonOf,
  type ReplyDeps,
  sendAck,
  sendDead,
  sendNack,
  sendProgress,
  sendReply,
  sendWorking,
} from './served-replies.ts';

function errorCodeOf(answer: ServeAnswer): string | undefined {
  if (answer === undefined || answer === handBack) return undefined;
  return 'failed' in answer ? 'handler_failed' : answer.errorCode;
}

/** Runs a handler, within its span if it has one. */
function runHandler(handler: ServeHandler, request: AcceptedRequest): Promise<ServeAnswer> {
  return request.span === undefined ? handler(request) : request.span.run(() => handler(request));
}

export interface RequestRunnerDeps extends Omit<ReplyDeps, 'onReplied' | 'onUnanswerable'> {
  deadlines: DeadlineTable;
  parseBody: ParseBody;
  /** See `InboxSubscription.waitedBefore`. */
  waitedBefore: (seq: number) => boolean;
  /** Takes back a message that was accepted and never started. */
  giveBack: (message: Message) => void;
}

export interface RequestRunnerOptions {
  kinds: readonly string[];
  handler: ServeHandler;
  /** Handlers that run at a time. */
  concurrency: number;
  /** See `ServeOptions.readsBody`. */
  readsBody?: boolean | undefined;
  /** See `ServeOptions.tellsStart`. */
  tellsStart?: boolean | undefined;
  /** The time between two renewals of a group's message that is worked on, in milliseconds. */
  renewMs?: number | undefined;
}

/** Stands for all kinds that no other loop serves. */
const allKinds = '*';
/** The number of answered requests and of early cancels that are remembered. */
const rememberedRequests = 10_000;
/** Further ephemeral requests are dropped; the broker's window bounds the stored ones. */
const maxWaitingEphemeral = 1_024;
/** The longest time for which the broker does not know that work on a request has begun, in milliseconds (ADR 28). */
const startToldWithinMs = 5;
/** The time after which a request comes again whose id is in use by an earlier one, in milliseconds. */
const busyMs = 1_000;
/** The longest reason that the broker keeps, in characters. */
const maxReasonLength = 500;

/**
 * Runs the requests of one serve loop. However often a request comes, through the broker and on lanes, it runs at most once at a time: one that
 * is there is joined.
 */
export class RequestRunner implements LaneRunner {
  readonly #deps: RequestRunnerDeps & ReplyDeps;
  readonly #requestDeps: AcceptedRequestDeps;
  readonly #options: RequestRunnerOptions;
  readonly #kinds: ReadonlySet<string>;
  readonly #accepted = new PassingMap<AcceptedRequest>();
  /** Accepted requests that wait until a handler is free. */
  readonly #waiting = new Set<AcceptedRequest>();
  /** Ids of answered requests by `seq`. */
  #answered = new RecentMap<number, string>(rememberedRequests);
  #newestAnswered = 0;
  readonly #earlyCancels: EarlyCancels;
  /** Replies on lanes that their requesters may not have. */
  readonly #unread: UnreadReplies;
  readonly #onIdle: (() => void)[] = [];
  #running = 0;
  #isStopping = false;

  constructor(options: RequestRunnerOptions, deps: RequestRunnerDeps) {
    this.#options = options;
    this.#kinds = new Set(options.kinds);
    this.#earlyCancels = new EarlyCancels(rememberedRequests, deps.clock.now);
    this.#unread = new UnreadReplies(deps.clock.now);
    const replyDeps = {
      ...deps,
      onReplied: (request: AcceptedRequest) => this.#settle(request),
      onUnanswerable: (request: AcceptedRequest, reason: string) => this.#giveUp(request, reason),
    };
    this.#deps = replyDeps;
    this.#requestDeps = {
      now: deps.clock.now,
      epoch: deps.epoch,
      sendProgress: (request, body) => sendProgress(replyDeps, request, body),
      sendWorking: (request, how) => this.#tellStart(request, how?.atOnce),
    };
  }

  /** Requests that wait, run, or whose reply has no receipt yet. */
  get inFlight(): number {
    return this.#accepted.size;
  }

  /** Returns true if this runner serves requests of this kind. */
  serves(kind: string): boolean {
    return this.#kinds.has(kind) || this.#kinds.has(allKinds);
  }

  /** Takes a message, or returns false if the runner is stopping: then the message is left to the next one that serves its kind. */
  accept(message: Message): boolean {
    const { outbox, log } = this.#deps;
    const key = keyOf(message.from.agent, message.id);
    const known = this.#accepted.get(key);
    if (known !== undefined && readerOf(known.message) !== readerOf(message)) {
      const reason = 'a request of this agent with the same id runs under another role';
      if (message.seq !== undefined)
        outbox.control({ type: 'nack', seqs: [message.seq], delay_ms: busyMs, reason });
    } else if (known !== undefined) {
      this.#redelivered(known, message);
    } else if (message.seq !== undefined && this.#wasAnswered(message.seq, message.id)) {
      outbox.ack(message.seq);
    } else if (this.#earlyCancels.take(key)) {
      log({ event: 'cancelled_before_start', id: message.id });
      if (message.seq !== undefined) outbox.ack(message.seq);
    } else if (this.#isStopping) {
      return false;
    } else {
      const reply = this.#unread.take(readerOf(message), message.id);
      if (reply) this.#replyAgain(key, message, reply);
      else this.#admit(key, message);
    }
    return true;
  }

  /** Takes a request from a lane, or returns false: then it has not begun. */
  acceptFromLane(lane: ServedLane, message: Message, isFirst: boolean): boolean {
    const key = keyOf(message.from.agent, message.id);
    const known = this.#accepted.get(key);
    if (known !== undefined) {
      if (readerOf(known.message) !== readerOf(message)) return false;
      known.lanes = [...(known.lanes ?? []), lane];
      return true;
    }
    const reply = this.#unread.take(readerOf(message), message.id);
    if (reply) {
      this.#sendOnLane(lane, message, reply, () => {});
      return true;
    }
    if (this.#isStopping || !this.serves(message.kind) || this.#running >= this.#options.concurrency)
      return false;
    return this.#admit(key, message, { lane, isFirst });
  }

  /** Aborts a request that its sender withdraws on a lane, unless the sender also waits for it by another way. */
  cancelFromLane(lane: ServedLane, id: string, agent: string): void {
    const request = this.#accepted.get(keyOf(agent, id));
    if (request?.lanes?.includes(lane) !== true) return;
    if (request.seq === undefined && request.lanes.length === 1) {
      request.abort('cancelled');
      return;
    }
    request.lanes = request.lanes.filter((other) => other !== lane);
    lane.useBroker(id);
  }

  /** Forgets a lane. Its requests go on, since they may come again. */
  laneEnded(lane: ServedLane): void {
    for (const request of this.#onLane(lane)) {
      request.lanes = request.lanes?.filter((other) => other !== lane);
      if (request.isWithdrawn && !request.mayWait && request.lanes?.length === 0) request.abort('cancelled');
    }
  }

  /** Ends the requests of a lane that have not begun. Those that run are answered. */
  laneForbidden(lane: ServedLane): void {
    for (const request of this.#onLane(lane)) {
      if (request.isStarted || request.seq !== undefined) continue;
      request.abort('cancelled');
      for (const waiting of request.lanes ?? []) waiting.forbid(request.message.id);
      request.lanes = [];
    }
  }

  #onLane(lane: ServedLane): AcceptedRequest[] {
    return this.#accepted.values().filter((request) => request.lanes?.includes(lane));
  }

  /** Aborts the sender's own request; a cancel of one that has not come yet is remembered. */
  cancel(notice: CancelNotice): void {
    const key = keyOf(notice.from.agent, notice.correlation_id);
    const { stopped } = notice;
    const request = this.#accepted.get(key);
    if (request === undefined) {
      // A message whose work was stopped may be put back under its id.
      if (stopped === undefined) this.#earlyCancels.add(key);
      return;
    }
    if (stopped === undefined && request.lanes && request.lanes.length > 0) {
      // The sender waits on, by another way, unless that is a lane whose end is not known here yet.
      sendAck(this.#deps, request);
      request.seq = undefined;
      request.isWithdrawn = true;
      return;
    }
    request.abort('cancelled', stopped);
    if (this.#waiting.delete(request)) {
      sendAck(this.#deps, request);
      this.#forget(request);
    }
  }

  /**
   * Forgets which requests were answered: another broker that delivers one of them (one restored from a backup, for example) has no reply
   * to it. Requests that wait or run are answered there.
   */
  brokerReplaced(): void {
    this.#answered = new RecentMap(rememberedRequests);
  }

  /** Hands back the waiting requests, and resolves when the running ones are answered and their replies have receipts. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const request of this.#waiting) this.#handBack(request);
    this.#waiting.clear();
    if (this.#accepted.size === 0) return;
    await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  /** The client is closed for good: nothing can be answered any more. */
  close(): void {
    this.#isStopping = true;
    for (const request of this.#accepted.values()) {
      request.abort('closed');
      this.#forget(request);
    }
    this.#waiting.clear();
  }

  /** A new broker's `seq` begins at 1 again, so the id must be the same, too. */
  #wasAnswered(seq: number, id: string): boolean {
    return seq <= this.#newestAnswered && this.#answered.get(seq) === id;
  }

  #redelivered(request: AcceptedRequest, message: Message): void {
    if (request.stoppedBy !== undefined && message.seq !== undefined && message.seq !== request.seq) {
      // Somebody put the dead letter back before the work on it has ended.
      const reason = 'the work that an operator stopped has not ended';
      this.#deps.outbox.control({
        type: 'nack',
        seqs: [message.seq],
        delay_ms: busyMs,
        counts: false,
        reason,
      });
      return;
    }
    request.seq = message.seq;
    request.isFirst = false;
    request.epoch = this.#deps.epoch();
    if (request.isStarted) sendWorking(this.#deps, request);
  }

  /** Returns false if the request was dropped. */
  #admit(key: string, message: Message, onLane?: { lane: ServedLane; isFirst: boolean }): boolean {
    const { outbox, deadlines, log, parseBody } = this.#deps;
    let json: unknown;
    try {
      if (!this.#options.readsBody && message.body !== undefined) json = parseBody(message.body);
    } catch (thrown) {
      log({ event: 'bad_body', id: message.id, message: messageOf(thrown) });
      if (message.seq !== undefined) {
        outbox.control({ type: 'nack', seqs: [message.seq], dead: true, reason: 'bad_body' });
      }
      return false;
    }
    const isFull = this.#running >= this.#options.concurrency;
    if (isFull && message.seq === undefined && this.#waiting.size >= maxWaitingEphemeral) {
      log({ event: 'ephemeral_dropped', id: message.id, kind: message.kind });
      return false;
    }
    const request = new AcceptedRequest(key, message, json, this.#requestDeps);
    if (onLane) {
      request.lanes = [onLane.lane];
      request.isFirst = onLane.isFirst;
    }
    this.#accepted.add(key, request);
    if (request.deadline !== undefined) {
      request.expiry = deadlines.add(request.deadline, () => this.#expire(request));
    }
    if (isFull) this.#waiting.add(request);
    else this.#start(request);
    return true;
  }

  #start(request: AcceptedRequest): void {
    this.#running++;
    const { handler, tellsStart, renewMs } = this.#options;
    const { tracing, address } = this.#deps;
    if (tracing !== undefined && (request.seq !== undefined || request.lanes)) {
      request.span = beginProcess(tracing, request.message, address);
    }
    if (!tellsStart) request.start();
    if (renewMs !== undefined) this.#renewAfter(renewMs, request);
    let answer: Promise<ServeAnswer>;
    try {
      answer = runHandler(handler, request);
    } catch (error) {
      answer = Promise.reject(error);
    }
    answer.then(
      (reply) => this.#finished(request, reply),
      (error: unknown) => this.#failed(request, error),
    );
  }

  /**
   * Tells the broker that work on a request has begun. It need not hear of short work at all, unless the request has been in the inbox
   * since before the subscription: it may be the reason why an earlier process has ended.
   */
  #tellStart(request: AcceptedRequest, atOnce = !this.#options.tellsStart): void {
    const { deadlines, clock, waitedBefore } = this.#deps;
    if (atOnce || request.seq === undefined || waitedBefore(request.seq)) {
      sendWorking(this.#deps, request);
      return;
    }
    request.startNotice = deadlines.add(clock.now() + startToldWithinMs, () =>
      sendWorking(this.#deps, request),
    );
  }

  /** Renews the ack deadline of a request that is worked on, again and again. */
  #renewAfter(ms: number, request: AcceptedRequest): void {
    const { deadlines, clock } = this.#deps;
    request.renewal = deadlines.add(clock.now() + ms, () => {
      if (request.isOver) return;
      if (request.isStarted) sendWorking(this.#deps, request);
      this.#renewAfter(ms, request);
    });
  }

  #startNext(): void {
    this.#running--;
    const [next] = this.#waiting;
    if (next === undefined || this.#isStopping) return;
    this.#waiting.delete(next);
    this.#start(next);
  }

  #finished(request: AcceptedRequest, answer: ServeAnswer): void {
    request.span?.end(request.abortedBy ?? errorCodeOf(answer));
    if (answer === handBack) {
      if (!request.isOver) this.#handBack(request);
    } else if (answer === undefined) {
      this.#settle(request);
    } else if ('failed' in answer) {
      if (request.abortedBy === 'cancelled') this.#settle(request);
      else this.#nack(request, answer.failed, answer);
    } else if (!request.isOver) {
      const isSent = request.lanes
        ? this.#replyOnLanes(request, request.lanes, answer)
        : sendReply(this.#deps, request, answer);
      if (!isSent) {
        this.#failed(request, new TypeError('the handler returned a body that is not a JSON value'));
        return;
      }
      if (request.startNotice !== undefined) this.#deps.deadlines.cancel(request.startNotice);
    }
    this.#startNext();
  }

  /** Sends a reply to everybody who waits for it. Returns false if its body is no JSON value. */
  #replyOnLanes(request: AcceptedRequest, lanes: readonly ServedLane[], answer: ServedReply): boolean {
    const text = answer.text ?? jsonOf(answer.body);
    if (text === undefined) return false;
    const { message } = request;
    const { id } = message;
    if (request.seq !== undefined) {
      for (const lane of lanes) lane.reply(id, { kind: answer.kind, text }, () => {});
      request.lanes = [];
      return sendReply(this.#deps, request, { ...answer, text });
    }
    let isSettled = false;
    const settled = (how: ReplyEnd): void => {
      if (isSettled) return;
      isSettled = true;
      answer.settled?.(how);
    };
    const reply: SentReply = { kind: answer.kind, text };
    const { tracing } = this.#deps;
    if (tracing) reply.traceparent = this.#traceReply(tracing, request, answer.kind);
    for (const lane of lanes) this.#sendOnLane(lane, message, reply, settled);
    if (lanes.length === 0) {
      this.#unread.add(readerOf(message), id, reply);
      settled('waits');
    }
    this.#forget(request);
    return true;
  }

  /** Makes the span of a reply on lanes, as one through the broker has. */
  #traceReply(
    tracing: Tracing,
    { message: { id, from }, traceparent }: AcceptedRequest,
    kind: string,
  ): string {
    const { address } = this.#deps;
    const frame = deliverFrame(from.address, replyIdOf(id), kind, { correlationId: id });
    frame.traceparent = traceparent;
    const span = beginSend(tracing, frame, address);
    span.end();
    return span.traceparent;
  }

  #sendOnLane(lane: ServedLane, message: Message, reply: SentReply, settled: (how: ReplyEnd) => void): void {
    const { id } = message;
    const reader = readerOf(message);
    this.#unread.add(reader, id, reply);
    lane.reply(id, reply, (how) => {
      if (how === 'stored') this.#unread.take(reader, id);
      settled(how);
    });
  }

  /** Sends the reply to a request that comes again, because its requester has lost the lane on which it was sent. */
  #replyAgain(key: string, message: Message, reply: SentReply): void {
    const request = new AcceptedRequest(key, message, undefined, this.#requestDeps);
    this.#accepted.add(key, request);
    sendReply(this.#deps, request, reply);
  }

  #failed(request: AcceptedRequest, error: unknown): void {
    const message = messageOf(error);
    request.span?.end(request.abortedBy ?? 'handler_failed');
    this.#deps.log({ event: 'handler_failed', id: request.message.id, message, ended: request.abortedBy });
    if (request.abortedBy === 'cancelled') this.#settle(request);
    else this.#nack(request, message);
    this.#startNext();
  }

  #expire(request: AcceptedRequest): void {
    request.abort('expired');
    // The broker decides about the lifetime: it expires a nacked request and tells the sender.
    if (this.#waiting.delete(request)) this.#nack(request, 'its deadline passed before a handler was free');
  }

  /** Finishes with a request and remembers it as answered. It is acked here, unless its reply settles it. */
  #settle(request: AcceptedRequest): void {
    if (request.isOver) return;
    if (request.seq !== undefined) {
      this.#answered.set(request.seq, request.message.id);
      if (request.seq > this.#newestAnswered) this.#newestAnswered = request.seq;
    }
    for (const lane of request.lanes ?? []) lane.useBroker(request.message.id);
    if (request.settledIn !== request.epoch) sendAck(this.#deps, request);
    this.#forget(request);
  }

  #giveUp(request: AcceptedRequest, reason: string): void {
    if (!request.isOver) sendDead(this.#deps, request, reason.slice(0, maxReasonLength));
    this.#forget(request);
  }

  #nack(request: AcceptedRequest, reason: string, how?: ServeFailure): void {
    if (request.isOver) return;
    for (const lane of request.lanes ?? []) lane.useBroker(request.message.id, { maybeBegun: true });
    sendNack(this.#deps, request, reason.slice(0, maxReasonLength), how);
    this.#forget(request);
  }

  /** Leaves the request un-acked for the next one that serves its kind, here or after the lease. It costs no attempt. */
  #handBack(request: AcceptedRequest): void {
    this.#forget(request);
    for (const lane of request.lanes ?? []) lane.useBroker(request.message.id);
    if (request.lanes && request.seq === undefined) return;
    if (request.epoch === this.#deps.epoch()) this.#deps.giveBack(request.toMessage());
  }

  #forget(request: AcceptedRequest): void {
    if (request.isOver) return;
    request.isOver = true;
    this.#accepted.take(request.key);
    if (request.expiry !== undefined) this.#deps.deadlines.cancel(request.expiry);
    if (request.renewal !== undefined) this.#deps.deadlines.cancel(request.renewal);
    if (request.startNotice !== undefined) this.#deps.deadlines.cancel(request.startNotice);
    if (this.#accepted.size === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
  }
}

function keyOf(agent: string, id: string): string {
  return `${agent} ${id}`;
}

/** Returns the one who may have the reply to a request: another role of the same agent may not be allowed to make the call. */
function readerOf({ from: { agent, role } }: Message): string {
  return `${agent} ${role}`;
}
