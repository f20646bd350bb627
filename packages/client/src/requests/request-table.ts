import {
  agentOf,
  type DeliverFrame,
  type Message,
  messageOf,
  parseJson,
  type SignalboxError,
} from '@signalbox/protocol';
import type { Clock, Log } from '../clock.ts';
import type { DeadlineTable } from '../deadline-table.ts';
import { clientError } from '../errors.ts';
import { RecentMap } from '../recent-map.ts';
import type { Outbox } from '../socket/outbox.ts';
import type { DeliveryTable } from './delivery-table.ts';
import { PassingMap } from './passing-map.ts';
import {
  type Expected,
  type OnRefused,
  type ParsedMessage,
  PendingRequest,
  type RequestOptions,
  type RequestOutcome,
} from './pending-request.ts';

export interface RequestTablePorts {
  outbox: Outbox;
  deliveries: DeliveryTable;
  deadlines: DeadlineTable;
  clock: Clock;
  log: Log;
}

const rememberedRequests = 10_000;

/** The multiplexer: who waits for which reply. Waiters outlive connections; a reply, a deadline or an abort ends them. */
export class RequestTable {
  readonly #ports: RequestTablePorts;
  readonly #waiters = new PassingMap<PendingRequest>();
  /** Requests that ended here, whose late replies are retired. */
  readonly #ended = new RecentMap<string, Expected>(rememberedRequests);
  /** Of the newest request: most go where the one before went. */
  #expected: Expected | undefined;

  constructor(ports: RequestTablePorts) {
    this.#ports = ports;
  }

  /** Sends a request whose header was checked and whose body is encoded. */
  start(frame: DeliverFrame, body: string | undefined, options: RequestOptions): Promise<RequestOutcome> {
    if (options.signal?.aborted) return Promise.resolve({ status: 'cancelled', mayHaveRun: false });
    if (this.#waiters.has(frame.id)) {
      const error = clientError('invalid_message', `a request with the id '${frame.id}' is under way`);
      return Promise.resolve({ status: 'not_sent', error, mayHaveRun: false });
    }
    return new Promise((resolve) => this.#start(frame, body, options, resolve));
  }

  #start(
    frame: DeliverFrame,
    body: string | undefined,
    options: RequestOptions,
    resolve: PendingRequest['resolve'],
  ): void {
    const { deadlines, clock, deliveries } = this.#ports;
    const expiresAt = clock.now() + options.timeoutMs;
    const waiter = new PendingRequest(this.#refused, frame, options, this.#expect(frame, options), resolve);
    waiter.deadline = deadlines.add(expiresAt, () => this.#giveUp(waiter, 'timed_out'));
    this.#waiters.add(frame.id, waiter);
    const { signal } = options;
    if (signal !== undefined) {
      waiter.onAbort = () => this.#giveUp(waiter, 'cancelled');
      signal.addEventListener('abort', waiter.onAbort, { once: true });
    }
    waiter.deliver = deliveries.add({ frame, body, owner: waiter, expiresAt, sentIsEnough: false });
  }

  #expect({ to, kind }: DeliverFrame, options: RequestOptions): Expected {
    const agent = agentOf(to);
    const replyKind = options.replyKind ?? (kind === 'mcp_request' ? 'mcp_reply' : 'reply');
    const last = this.#expected;
    if (last?.agent === agent && last.replyKind === replyKind) return last;
    this.#expected = { agent, replyKind };
    return this.#expected;
  }

  /** True has the request tried again. */
  readonly #refused: OnRefused = (waiter, error, mayBeStored) => {
    if (waiter.options.ephemeral === true && error.code === 'no_consumer') {
      waiter.refusal = error;
      return true;
    }
    const mayHaveRun = mayBeStored || waiter.isReceipted;
    // "Not now" doesn't tell what became of the first sending; only a receipt or a reply does.
    if (mayHaveRun && error.retryable) return true;
    this.#end(
      waiter,
      mayHaveRun
        ? { status: 'connection_lost', mayHaveRun, error }
        : { status: 'rejected', error, mayHaveRun },
    );
    return false;
  };

  /** Ends every request, because the client was closed or its own inbox can't be had. */
  endAll(error: SignalboxError): void {
    for (const waiter of this.#waiters.values()) {
      const mayHaveRun = waiter.hasLeft;
      this.#end(
        waiter,
        mayHaveRun
          ? { status: 'connection_lost', mayHaveRun, error }
          : { status: 'not_sent', error, mayHaveRun },
      );
    }
  }

  /** True if the message belongs to a request of this client, past or present, and was dealt with. */
  take(message: Message): boolean {
    const id = message.correlation_id;
    if (id === undefined) return false;
    const waiter = this.#waiters.get(id);
    if (waiter === undefined) return this.#retire(id, message);
    if (message.kind === waiter.expected.replyKind && message.from.agent === waiter.expected.agent) {
      this.#complete(waiter, message);
    } else if (message.kind === 'undeliverable' && message.from.agent === 'broker') {
      this.#undeliverable(waiter, message);
    } else if (isProgress(message) && message.from.agent === waiter.expected.agent) {
      this.#progress(waiter, message);
    } else {
      this.#ports.log({
        event: 'reply_mismatch',
        id: message.id,
        kind: message.kind,
        from: message.from.agent,
      });
      return false;
    }
    return true;
  }

  /** A late reply, or one that is redelivered because its ack was lost; only from whom it was asked of. */
  #retire(id: string, message: Message): boolean {
    const ended = this.#ended.get(id);
    if (ended === undefined) return false;
    const { kind, from } = message;
    const own = (kind === ended.replyKind || isProgress(message)) && from.agent === ended.agent;
    if (!own && !(kind === 'undeliverable' && from.agent === 'broker')) return false;
    this.#ack(message);
    return true;
  }

  #complete(waiter: PendingRequest, message: Message): void {
    let json: unknown;
    try {
      json = message.body === undefined ? undefined : parseJson(message.body);
    } catch (error) {
      this.#ports.log({ event: 'bad_body', id: message.id, message: messageOf(error) });
      if (message.seq !== undefined) {
        this.#ports.outbox.control({ type: 'nack', seqs: [message.seq], dead: true, reason: 'bad_body' });
      }
      this.#end(waiter, { status: 'undeliverable', reason: 'bad_body', mayHaveRun: true });
      return;
    }
    this.#ack(message);
    const parsed = message as ParsedMessage;
    parsed.json = json;
    this.#end(waiter, { status: 'completed', reply: parsed, mayHaveRun: true });
  }

  #undeliverable(waiter: PendingRequest, message: Message): void {
    this.#ack(message);
    const { reason, mayHaveRun } = readUndeliverable(message.body);
    this.#end(waiter, { status: 'undeliverable', reason, mayHaveRun });
  }

  #progress(waiter: PendingRequest, message: Message): void {
    const { onProgress } = waiter.options;
    if (onProgress === undefined) return;
    try {
      onProgress(message.body === undefined ? undefined : parseJson(message.body));
    } catch (error) {
      this.#ports.log({ event: 'listener_failed', kind: message.kind, message: messageOf(error) });
    }
  }

  #giveUp(waiter: PendingRequest, status: 'timed_out' | 'cancelled'): void {
    const { frame, options, refusal } = waiter;
    const mayHaveRun = waiter.hasLeft;
    if (status === 'timed_out' && refusal !== undefined && !mayHaveRun) {
      this.#end(waiter, { status: 'rejected', error: refusal, mayHaveRun });
      return;
    }
    if (mayHaveRun && options.ephemeral !== true) this.#ports.outbox.cancel(frame.to, frame.id);
    this.#end(waiter, { status, mayHaveRun });
  }

  #ack(message: Message): void {
    if (message.seq !== undefined) this.#ports.outbox.ack(message.seq);
  }

  #end(waiter: PendingRequest, outcome: RequestOutcome): void {
    const { frame, options, onAbort, deliver } = waiter;
    if (this.#waiters.take(frame.id) === undefined) return;
    if (waiter.deadline !== undefined) this.#ports.deadlines.cancel(waiter.deadline);
    if (onAbort !== undefined) options.signal?.removeEventListener('abort', onAbort);
    if (deliver !== undefined) this.#ports.deliveries.drop(deliver);
    this.#ended.set(frame.id, waiter.expected);
    waiter.resolve(outcome);
  }
}

function isProgress(message: Message): boolean {
  return message.kind === 'progress' && message.seq === undefined;
}

/** Body of the broker's `undeliverable`: `{reason, may_have_run?}`. Without a word on it, it may have run. */
function readUndeliverable(body: string | undefined): { reason: string; mayHaveRun: boolean } {
  try {
    const parsed = body === undefined ? undefined : parseJson(body);
    if (parsed !== null && typeof parsed === 'object') {
      const reason = 'reason' in parsed && typeof parsed.reason === 'string' ? parsed.reason : 'unknown';
      return { reason, mayHaveRun: !('may_have_run' in parsed && parsed.may_have_run === false) };
    }
  } catch {
    // The message itself says what counts: the request has ended.
  }
  return { reason: 'unknown', mayHaveRun: true };
}
