import type { BrokerFrame, ClientFrame, ErrorFrame, SignalboxError } from '@signalbox/protocol';
import type { Clock } from '../clock.ts';
import { brokerError, clientError } from '../errors.ts';
import type { Outbox } from '../socket/outbox.ts';
import type { Deadline, DeadlineTable } from './deadline-table.ts';

type CallFrame = Extract<ClientFrame, { request_id?: string | undefined; type: string }>;

/** The frames with which the broker is asked a question, and the types of the frames that answer them. */
const answerTypes = {
  subscribe: 'subscribed',
  ack: 'ack_result',
  nack: 'ack_result',
  list_connected: 'connected',
  list_scheduled: 'scheduled',
  cancel: 'cancel_result',
  peek: 'peeked',
  find: 'found',
  audit: 'audited',
  check_tokens: 'tokens_checked',
  open_lane: 'lane_opened',
  admin: 'admin_result',
} as const;

type AnswerTypes = typeof answerTypes;
type CallName = keyof AnswerTypes;
type Answer<N extends CallName> = Extract<BrokerFrame, { type: AnswerTypes[N] }>;
type AnyAnswer = Answer<CallName>;
/** The frame of a call before it is given its `request_id`. */
export type Call<N extends CallName> = Omit<Extract<CallFrame, { type: N }>, 'request_id'> & { type: N };

interface Pending {
  frame: CallFrame;
  answerType: string;
  resolve: (answer: AnyAnswer) => void;
  reject: (error: SignalboxError) => void;
  deadline: Deadline;
  repeatable: boolean;
  sent: boolean;
}

export interface BrokerCallsDeps {
  outbox: Outbox;
  deadlines: DeadlineTable;
  clock: Clock;
}

/** Limit of the wait for a connection and an answer together. */
const timeoutMs = 30_000;

/** Calls to the broker itself that wait for their answers, which are matched by `request_id`. */
export class BrokerCalls {
  readonly #deps: BrokerCallsDeps;
  readonly #pending = new Map<string, Pending>();
  #count = 0;
  #connected = false;

  constructor(deps: BrokerCallsDeps) {
    this.#deps = deps;
  }

  /**
   * Sends a call as soon as there is a connection. A `repeatable` call is sent again after a reconnect; any other rejects with
   * `connection_lost`, since it is not known whether the broker has acted on it.
   */
  call<N extends CallName>(call: Call<N>, options: { repeatable?: boolean } = {}): Promise<Answer<N>> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer<N>>();
    const requestId = `c${++this.#count}`;
    const { deadlines, clock } = this.#deps;
    const pending: Pending = {
      frame: { ...call, request_id: requestId } as unknown as CallFrame,
      answerType: answerTypes[call.type],
      resolve: resolve as (answer: AnyAnswer) => void,
      reject,
      deadline: deadlines.add(clock.now() + timeoutMs, () => {
        this.#pending.delete(requestId);
        reject(clientError('timed_out', `the broker did not answer '${call.type}' within ${timeoutMs} ms`));
      }),
      repeatable: options.repeatable ?? false,
      sent: false,
    };
    this.#pending.set(requestId, pending);
    if (this.#connected) this.#send(pending);
    return promise;
  }

  /** Sends the calls that wait for a connection. */
  connected(): void {
    this.#connected = true;
    for (const pending of this.#pending.values()) this.#send(pending);
  }

  /** Rejects the calls whose answers are lost with the connection, and keeps repeatable ones for the next. */
  disconnected(): void {
    this.#connected = false;
    for (const [requestId, pending] of this.#pending) {
      if (!pending.sent) continue;
      pending.sent = false;
      if (pending.repeatable) continue;
      const message = `the connection was lost before the answer to '${pending.frame.type}'`;
      this.#settle(requestId)?.reject(clientError('connection_lost', message));
    }
  }

  /** Rejects all calls, because the client is closed. */
  endAll(error: SignalboxError): void {
    this.#connected = false;
    for (const requestId of [...this.#pending.keys()]) this.#settle(requestId)?.reject(error);
  }

  /** Resolves the call that this frame answers. */
  answered(frame: AnyAnswer): void {
    if (this.#pending.get(frame.request_id)?.answerType !== frame.type) return;
    this.#settle(frame.request_id)?.resolve(frame);
  }

  /** Rejects the call that the broker refused. */
  refused(requestId: string, frame: ErrorFrame): void {
    this.#settle(requestId)?.reject(brokerError(frame));
  }

  #settle(requestId: string): Pending | undefined {
    const pending = this.#pending.get(requestId);
    if (pending === undefined) return undefined;
    this.#pending.delete(requestId);
    this.#deps.deadlines.cancel(pending.deadline);
    return pending;
  }

  #send(pending: Pending): void {
    pending.sent = true;
    this.#deps.outbox.control(pending.frame);
  }
}
