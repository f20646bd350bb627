import {
  type BrokerFrame,
  type CancelNotice,
  type ClientFrame,
  closeCodeOf,
  type ErrorCode,
  errorCodes,
  type FrameRefusal,
  type MessageFrame,
  parseClientFrame,
  type Sender,
} from '@signalbox/protocol';
import type { NewMessage, TokenRecord } from '@signalbox/store';
import type { WebSocket } from 'ws';
import type { RolePolicy } from '../auth/role-policy.ts';
import { isPrivileged } from '../auth/role-policy.ts';
import type { Consumer } from '../core/lease.ts';
import type { DeliverResult, Producer } from '../core/producer.ts';
import { admin } from '../frames/admin.ts';
import type { SessionContext } from '../frames/context.ts';
import { answerDeliver, deliver } from '../frames/deliver.ts';
import { listConnected, peek } from '../frames/peek.ts';
import { RateLimit } from '../frames/rate-limit.ts';
import { FrameReader } from './frame-reader.ts';
import { Outbox } from './outbox.ts';

const MiB = 1024 * 1024;

/** Who a connection is, as its token says. */
export interface Identity {
  token: TokenRecord;
  sender: Sender;
}

/** One authenticated connection: frames in, answers and messages out. */
export class Session implements Consumer, Producer {
  readonly token: TokenRecord;
  readonly sender: Sender;
  readonly connectedAt: number;
  /** Orders sessions by address; unique. */
  readonly key: string;
  readonly bucket: RateLimit | undefined;
  readonly policy: RolePolicy | undefined;
  /** A minting token's connection may only issue and revoke child tokens. */
  readonly mintsOnly: boolean;
  readonly isOperator: boolean;
  /** Set by `announce`. */
  status: unknown;
  readonly #socket: WebSocket;
  readonly #context: SessionContext;
  readonly #outbox: Outbox;
  readonly #reader: FrameReader;
  #announcedAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(socket: WebSocket, identity: Identity, context: SessionContext, serial: string) {
    this.#socket = socket;
    this.#context = context;
    this.token = identity.token;
    this.sender = identity.sender;
    this.policy = context.policies[identity.sender.role];
    this.mintsOnly = identity.token.permissions.includes('mint');
    this.isOperator = identity.token.permissions.includes('operator');
    this.connectedAt = context.now();
    this.key = `${identity.sender.address} ${serial}`;
    this.bucket = isPrivileged(identity.sender.role)
      ? undefined
      : new RateLimit(context.limits.deliverPerSecond, context.limits.deliverBurst, context.now());
    this.#outbox = new Outbox(
      socket,
      { pauseBytes: 4 * MiB, closeBytes: 24 * MiB, liveLaneMessages: context.limits.liveLaneMessages },
      {
        dirty: context.flusher.add,
        drained: () => {
          context.delivery.resume(this.sender.address, this);
          this.#reader.wake();
        },
        overflow: () => this.end('slow_consumer', 'more than 24 MiB wait unread on this connection'),
      },
    );
    this.#reader = new FrameReader({
      handle: (header, body) => this.#handle(header, body),
      failed: (error) => this.#internal(error),
      isOpen: () => this.isOpen,
      mayAnswer: () => this.#outbox.writable,
      pause: () => socket.pause(),
      resume: () => socket.resume(),
    });
  }

  get isOpen(): boolean {
    return !this.#closed;
  }

  /** All frames of one WebSocket message; each is answered on its own. */
  receive(message: string): void {
    this.#reader.receive(message);
  }

  send(frame: BrokerFrame): void {
    if (!this.#closed) this.#outbox.control(frame);
  }

  answer(message: NewMessage, result: DeliverResult): void {
    answerDeliver(this, this.#context, message, result);
  }

  refuse(refusal: FrameRefusal, retryAfterMs?: number): void {
    const { code, message, field, id, request_id } = refusal;
    this.send({
      type: 'error',
      code,
      message,
      field,
      id,
      request_id,
      retryable: errorCodes[code].retryable,
      retry_after_ms: retryAfterMs,
    });
    this.audit(code, message);
    const { taps } = this.#context;
    if (taps.isOn) taps.refused(this.sender, refusal);
  }

  audit(code: string, detail: string): void {
    this.#context.audit.record({
      at: this.#context.now(),
      tokenId: this.token.id,
      agent: this.sender.agent,
      code,
      detail,
    });
  }

  /** Answers with an error that closes the connection. */
  end(code: ErrorCode, message: string): void {
    if (this.#closed) return;
    this.refuse({ code, message });
    this.close(closeCodeOf(code) ?? 1011, code);
  }

  close(code: number, reason: string): void {
    if (this.#closed) return;
    this.#outbox.flush();
    this.#socket.close(code, reason);
    // A socket that was paused would not read the other side's goodbye.
    this.#socket.resume();
    this.gone();
  }

  /** The socket is closed or closing: whatever was held is free again. */
  gone(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#context.delivery.release(this.sender.address, this);
    this.#context.sessions.remove(this);
    this.#context.taps.remove(this);
  }

  get writable(): boolean {
    return this.#outbox.writable;
  }

  push(frame: MessageFrame, body: string | undefined): void {
    this.#outbox.message(frame, body);
  }

  /** False if it was dropped. */
  pushEphemeral(frame: MessageFrame, body: string | undefined): boolean {
    return this.#outbox.ephemeral(frame, body);
  }

  cancelRequest(notice: Omit<CancelNotice, 'type'>): void {
    this.send({ type: 'cancel', ...notice });
  }

  leaseLost(reason: 'taken_over'): void {
    this.send({ type: 'lease_lost', reason });
  }

  #handle(header: string, body: string | undefined): Promise<void> | undefined {
    const { frame, refusal } = parseClientFrame(header);
    if (refusal) {
      this.refuse(refusal);
      return undefined;
    }
    if (this.mintsOnly && frame.type !== 'admin') {
      this.refuse({
        code: 'forbidden',
        message: 'a minting token may only issue and revoke child tokens',
        ...handles(frame),
      });
      return undefined;
    }
    return this.#dispatch(frame, body);
  }

  /** A promise only where frames behind this one have to wait. */
  #dispatch(frame: ClientFrame, body: string | undefined): Promise<void> | undefined {
    const context = this.#context;
    const { address } = this.sender;
    switch (frame.type) {
      case 'deliver':
        return deliver(this, context, frame, body);
      case 'ack':
      case 'nack':
        return this.#settle(frame);
      case 'working':
        context.delivery.working(address, this, frame.seqs);
        return;
      case 'subscribe':
        return this.#subscribe(frame);
      case 'cancel':
        context.delivery.cancellations
          .cancel(this.sender, frame.to, frame.correlation_id)
          .catch((error) => this.#internal(error));
        return;
      case 'announce':
        this.#announce(frame.status);
        return;
      case 'list_connected':
        return listConnected(this, context, frame)?.catch((error) => this.#internal(error, frame.request_id));
      case 'peek':
        return peek(this, context, frame).catch((error) => this.#internal(error, frame.request_id));
      case 'admin':
        return admin(this, context, frame).catch((error) => this.#internal(error, frame.request_id));
      case 'hello':
        this.refuse({ code: 'bad_frame', message: "a second 'hello' on one connection", field: 'type' });
    }
  }

  #subscribe(frame: Extract<ClientFrame, { type: 'subscribe' }>): Promise<void> {
    const options = {
      window: frame.window ?? 64,
      windowBytes: frame.window_bytes ?? 8 * MiB,
      ...(frame.journal_id !== undefined && { journalId: frame.journal_id }),
      ...(frame.ack_deadline_ms !== undefined && { ackDeadlineMs: frame.ack_deadline_ms }),
    };
    return this.#context.delivery
      .subscribe(this.sender.address, this, options, ({ lease, pending, headSeq, sameJournal }) => {
        this.send({
          type: 'subscribed',
          request_id: frame.request_id,
          lease: lease.id,
          pending,
          head_seq: headSeq,
          same_journal: sameJournal,
        });
      })
      .catch((error) => this.#internal(error, frame.request_id));
  }

  #settle(frame: Extract<ClientFrame, { type: 'ack' | 'nack' }>): undefined {
    const { delivery } = this.#context;
    const { address } = this.sender;
    const outcome =
      frame.type === 'ack'
        ? delivery.ack(address, this, frame.seqs)
        : delivery.nack(address, this, frame.seqs, {
            delayMs: frame.delay_ms ?? 0,
            dead: frame.dead ?? false,
            ...(frame.reason !== undefined && { reason: frame.reason }),
          });
    const { request_id } = frame;
    if (request_id === undefined) return;
    const answer = (): void => this.send({ type: 'ack_result', request_id, ...outcome });
    delivery.flushed().then(answer, (error) => this.#internal(error, request_id));
  }

  #announce(status: unknown): void {
    const now = this.#context.now();
    const wait = this.#announcedAt + 1000 - now;
    if (wait > 0) {
      this.refuse({ code: 'rate_limited', message: 'announce at most once a second' }, wait);
      return;
    }
    this.#announcedAt = now;
    this.status = status;
  }

  #internal(error: unknown, requestId?: string): void {
    this.#context.log({ level: 'error', event: 'session_failed', agent: this.sender.agent, error });
    this.refuse({
      code: 'internal',
      message: 'the broker failed to handle this frame; its log says why',
      ...(requestId !== undefined && { request_id: requestId }),
    });
  }
}

function handles(frame: ClientFrame): { id?: string; request_id?: string } {
  return {
    ...('id' in frame && { id: frame.id }),
    ...('request_id' in frame && frame.request_id !== undefined && { request_id: frame.request_id }),
  };
}
