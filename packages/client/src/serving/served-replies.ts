import { replyIdOf, type SignalboxError } from '@signalbox/protocol';
import { backoffMs } from '@signalbox/serving';
import type { TracedSpan, Tracing } from '@signalbox/serving/tracing';
import { beginSend } from '@signalbox/serving/tracing/internal';
import type { Log, ReplyEnd, ServedReply, ServeFailure } from '../broker-client.ts';
import type { Clock } from '../clock.ts';
import type { DeliveryOwner, DeliveryTable } from '../requests/delivery-table.ts';
import { deliverFrame } from '../requests/outgoing.ts';
import type { Outbox } from '../socket/outbox.ts';
import type { AcceptedRequest } from './accepted-request.ts';

export interface ReplyDeps {
  outbox: Outbox;
  deliveries: DeliveryTable;
  clock: Clock;
  log: Log;
  newId: () => string;
  /** The client's own address. */
  address: string;
  tracing: Tracing | undefined;
  /** See `InboxSubscription.epoch`. */
  epoch: () => number;
  /** Called once when the reply to a request is stored, or when it is refused for good and the request is to be acked. */
  onReplied: (request: AcceptedRequest) => void;
  /** Called instead if the reply is refused for good and the request is to be a dead letter. */
  onUnanswerable: (request: AcceptedRequest, reason: string) => void;
}

/** A reply outlives its request by this much, so that a requester that reconnects late still finds it. */
const replyGraceMs = 5 * 60_000;
const maxReplyRefusals = 5;
const nackPolicy = { firstMs: 500, longestMs: 10_000, jitter: 1 };

/**
 * Sends a reply that settles its request in the same commit, again after each lost connection. Returns false, and sends
 * nothing, if its body is no JSON value.
 */
export function sendReply(deps: ReplyDeps, request: AcceptedRequest, reply: ServedReply): boolean {
  const body = reply.text ?? jsonOf(reply.body);
  if (body === undefined) return false;
  const { id, from } = request.message;
  const { deadline, seq } = request;
  const isStored = seq !== undefined;
  const frame = deliverFrame(from.address, replyIdOf(id), reply.kind, {
    ephemeral: !isStored,
    correlationId: id,
  });
  frame.traceparent = request.traceparent;
  const span = deps.tracing && isStored ? beginSend(deps.tracing, frame, deps.address) : undefined;
  if (span !== undefined) frame.traceparent = span.traceparent;
  deps.deliveries.add({
    frame,
    body,
    owner: new ReplyOwner(deps, request, reply, span),
    expiresAt: deadline === undefined ? undefined : Math.max(deadline, deps.clock.now()) + replyGraceMs,
    endsWhenSent: !isStored,
  });
  return true;
}

/** Follows one reply until it is stored or refused for good. */
class ReplyOwner implements DeliveryOwner {
  readonly #deps: ReplyDeps;
  readonly #request: AcceptedRequest;
  readonly #reply: ServedReply;
  readonly #isStored: boolean;
  readonly #span: TracedSpan | undefined;
  #refusals = 0;

  constructor(deps: ReplyDeps, request: AcceptedRequest, reply: ServedReply, span: TracedSpan | undefined) {
    this.#deps = deps;
    this.#request = request;
    this.#reply = reply;
    this.#isStored = request.seq !== undefined;
    this.#span = span;
  }

  settles(): number | undefined {
    if (!this.#isStored) return undefined;
    const request = this.#request;
    request.settledIn = request.epoch === this.#deps.epoch() ? request.epoch : undefined;
    return request.settledIn === undefined ? undefined : request.seq;
  }

  receipted(_duplicate: boolean, waits: boolean): void {
    this.#end(waits ? 'waits' : 'stored');
  }

  refused(error: SignalboxError): boolean {
    const request = this.#request;
    const refusals = this.#refusals++;
    if (isLeaseOver(error) && request.settledIn !== undefined) {
      // The `seq` of the request no longer counts: the reply is sent again without `settles`.
      request.epoch = this.#deps.epoch() - 1;
      return true;
    }
    if (error.code === 'already_answered') {
      // The requester has its end, and the broker acked the request: there is nothing left to do.
      this.#deps.log({ event: 'already_answered', id: request.message.id });
      this.#end('refused', error);
      return false;
    }
    if (error.retryable && refusals < maxReplyRefusals && request.remainingMs() !== 0) return true;
    // The refused reply neither stops the serve loop nor makes the request run again: the request is acked by itself, or a dead letter.
    const { code, message } = error;
    this.#deps.log({ event: 'reply_refused', id: request.message.id, code, message });
    request.settledIn = undefined;
    this.#end('refused', error, this.#reply.deadIfRefused);
    return false;
  }

  /** A reply starts no work, and the requester may still wait for it. */
  brokerReplaced(): boolean {
    return true;
  }

  closed({ code }: SignalboxError): void {
    this.#span?.end(code);
  }

  #end(how: ReplyEnd, error?: SignalboxError, isDead = false): void {
    this.#span?.end(error?.code);
    this.#reply.settled?.(how, error);
    if (isDead) this.#deps.onUnanswerable(this.#request, `its reply was refused: ${error?.message}`);
    else this.#deps.onReplied(this.#request);
  }
}

/** Returns true if the broker refused `settles` because this client no longer holds the request. */
function isLeaseOver({ code }: SignalboxError): boolean {
  return code === 'no_lease' || code === 'not_yours';
}

/** Sends progress to the requester; it may be lost. */
export function sendProgress(deps: ReplyDeps, request: AcceptedRequest, body: string): void {
  const { id, from } = request.message;
  for (const lane of request.lanes ?? []) lane.progress(id, body);
  if (request.lanes && request.seq === undefined) return;
  deps.deliveries.sendOnce(
    deliverFrame(from.address, deps.newId(), 'progress', { ephemeral: true, correlationId: id }),
    body,
  );
}

/** Tells the broker that work on the request has begun. */
export function sendWorking(deps: ReplyDeps, { seq, epoch, span }: AcceptedRequest): void {
  if (seq !== undefined && epoch === deps.epoch()) deps.outbox.working(seq, span?.traceparent);
}

/** Acks the request, unless its lease is over. */
export function sendAck(deps: ReplyDeps, { seq, epoch }: AcceptedRequest): void {
  if (seq !== undefined && epoch === deps.epoch()) deps.outbox.ack(seq);
}

/** Has the broker deliver the request again, by default after a delay that grows with its attempts. */
export function sendNack(
  deps: ReplyDeps,
  { seq, epoch, message }: AcceptedRequest,
  reason: string,
  how?: ServeFailure,
): void {
  if (seq === undefined || epoch !== deps.epoch()) return;
  const { attempt = 0 } = message;
  const delay_ms = Math.round(how?.retryMs ?? backoffMs(nackPolicy, attempt, deps.clock.random()));
  const { counts = true, dead = false } = how ?? {};
  deps.outbox.control({
    ...{ type: 'nack', seqs: [seq], delay_ms, reason },
    ...(dead && { dead }),
    ...(!counts && { counts }),
  });
}

/** Makes the request a dead letter; the broker tells its sender. */
export function sendDead({ outbox, epoch }: ReplyDeps, request: AcceptedRequest, reason: string): void {
  const { seq } = request;
  if (seq !== undefined && request.epoch === epoch())
    outbox.control({ type: 'nack', seqs: [seq], dead: true, reason });
}

/** Returns the JSON text of a value; `undefined` if it has none. */
export function jsonOf(body: unknown): string | undefined {
  try {
    return JSON.stringify(body);
  } catch {
    return undefined;
  }
}
