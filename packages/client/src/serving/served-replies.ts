import { replyIdOf, type SignalboxError } from '@signalbox/protocol';
import type { Clock, Log } from '../clock.ts';
import type { DeliveryOwner, DeliveryTable } from '../requests/delivery-table.ts';
import { deliverFrame } from '../requests/outgoing.ts';
import { backoffMs } from '../socket/backoff.ts';
import type { Outbox } from '../socket/outbox.ts';
import type { AcceptedRequest, ServedReply } from './accepted-request.ts';

export interface ReplyPorts {
  outbox: Outbox;
  deliveries: DeliveryTable;
  clock: Clock;
  log: Log;
  newId: () => string;
  epoch: () => number;
  /** The reply to a request is stored, or it can't be. */
  replied: (run: AcceptedRequest) => void;
}

/** A reply outlives its request by this much, so that a requester that reconnects late still finds it. */
const replyGraceMs = 5 * 60_000;
const maxReplyRefusals = 5;
const nackPolicy = { baseMs: 500, capMs: 10_000 };

/**
 * Sends a reply that settles its request in the same commit, as often as connections are lost under it. `replied` is
 * told once. Returns false, and sends nothing, if its body is no JSON value.
 */
export function sendReply(ports: ReplyPorts, run: AcceptedRequest, reply: ServedReply): boolean {
  const body = encodeReply(reply);
  if (body === undefined) return false;
  const { id, from, seq } = run.message;
  const isStored = seq !== undefined;
  const { deadline } = run;
  ports.deliveries.add({
    frame: deliverFrame(from.address, replyIdOf(id), reply.kind, {
      ephemeral: !isStored,
      correlationId: id,
    }),
    body,
    owner: new ReplyOwner(ports, run, reply, isStored),
    expiresAt: deadline === undefined ? undefined : Math.max(deadline, ports.clock.now()) + replyGraceMs,
    sentIsEnough: !isStored,
  });
  return true;
}

/** Follows one reply until it is stored or can't be. */
class ReplyOwner implements DeliveryOwner {
  readonly #ports: ReplyPorts;
  readonly #run: AcceptedRequest;
  readonly #reply: ServedReply;
  readonly #isStored: boolean;
  #refusals = 0;

  constructor(ports: ReplyPorts, run: AcceptedRequest, reply: ServedReply, isStored: boolean) {
    this.#ports = ports;
    this.#run = run;
    this.#reply = reply;
    this.#isStored = isStored;
  }

  settles(): number | undefined {
    if (!this.#isStored) return undefined;
    const run = this.#run;
    run.settledIn = run.epoch === this.#ports.epoch() ? run.epoch : undefined;
    return run.settledIn === undefined ? undefined : run.seq;
  }

  receipted(): void {
    this.#end('stored');
  }

  refused(error: SignalboxError): boolean {
    if (maySendAgain(this.#ports, this.#run, error, this.#refusals++)) return true;
    this.#end('refused');
    return false;
  }

  #end(how: 'stored' | 'refused'): void {
    this.#reply.settled?.(how);
    this.#ports.replied(this.#run);
  }
}

/** A reply that can't be placed must not stop the loop, nor have the request run again. */
function maySendAgain(
  ports: ReplyPorts,
  run: AcceptedRequest,
  error: SignalboxError,
  refusals: number,
): boolean {
  if ((error.code === 'no_lease' || error.code === 'not_yours') && run.settledIn !== undefined) {
    run.epoch = ports.epoch() - 1;
    return true;
  }
  const hasTime = run.remainingMs() !== 0;
  if (error.retryable && refusals < maxReplyRefusals && hasTime) return true;
  ports.log({ event: 'reply_refused', id: run.message.id, code: error.code, message: error.message });
  run.settledIn = undefined;
  return false;
}

export function sendProgress(ports: ReplyPorts, run: AcceptedRequest, body: string): void {
  const { id, from } = run.message;
  ports.deliveries.sendOnce(
    deliverFrame(from.address, ports.newId(), 'progress', { ephemeral: true, correlationId: id }),
    body,
  );
}

export function sendWorking(ports: ReplyPorts, run: AcceptedRequest): void {
  if (run.seq !== undefined && run.epoch === ports.epoch()) ports.outbox.working(run.seq);
}

export function sendAck(ports: ReplyPorts, run: AcceptedRequest): void {
  if (run.seq !== undefined && run.epoch === ports.epoch()) ports.outbox.ack(run.seq);
}

/** Has the request tried again, later each time. */
export function sendNack(ports: ReplyPorts, run: AcceptedRequest, reason: string): void {
  const { outbox, clock, epoch } = ports;
  if (run.seq === undefined || run.epoch !== epoch()) return;
  const delay_ms = Math.round(backoffMs(nackPolicy, run.message.attempt ?? 0, clock.random()));
  outbox.control({ type: 'nack', seqs: [run.seq], delay_ms, reason });
}

function encodeReply(reply: ServedReply): string | undefined {
  try {
    return JSON.stringify(reply.body);
  } catch {
    return undefined;
  }
}
