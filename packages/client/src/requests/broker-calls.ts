import type { BrokerFrame, ClientFrame, ErrorFrame, SignalboxError } from '@signalbox/protocol';
import type { Clock } from '../clock.ts';
import type { Deadline, DeadlineTable } from '../deadline-table.ts';
import { brokerError, clientError } from '../errors.ts';
import type { Outbox } from '../socket/outbox.ts';

type CallFrame = Extract<ClientFrame, { request_id?: string | undefined; type: string }>;
type CallName = 'subscribe' | 'ack' | 'nack' | 'list_connected' | 'peek' | 'admin';
type AnswerTypes = {
  subscribe: 'subscribed';
  ack: 'ack_result';
  nack: 'ack_result';
  list_connected: 'connected';
  peek: 'peeked';
  admin: 'admin_result';
};
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

const answerTypes: AnswerTypes = {
  subscribe: 'subscribed',
  ack: 'ack_result',
  nack: 'ack_result',
  list_connected: 'connected',
  peek: 'peeked',
  admin: 'admin_result',
};

/** Waits for a connection and an answer, unless told otherwise, in milliseconds. */
const defaultTimeoutMs = 30_000;

/** Questions to the broker itself, matched to their answers by `request_id`. */
export class BrokerCalls {
  readonly #ports: { outbox: Outbox; deadlines: DeadlineTable; clock: Clock };
  readonly #pending = new Map<string, Pending>();
  #count = 0;
  #connected = false;

  constructor(ports: { outbox: Outbox; deadlines: DeadlineTable; clock: Clock }) {
    this.#ports = ports;
  }

  /**
   * Asks, once there is a connection. `repeatable` questions are asked again after a reconnect; others reject with
   * `connection_lost`, since what became of them is not known.
   */
  call<N extends CallName>(call: Call<N>, options: { repeatable?: boolean } = {}): Promise<Answer<N>> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer<N>>();
    const requestId = `c${++this.#count}`;
    const { deadlines, clock } = this.#ports;
    const pending: Pending = {
      frame: { ...call, request_id: requestId } as unknown as CallFrame,
      answerType: answerTypes[call.type],
      resolve: resolve as (answer: AnyAnswer) => void,
      reject,
      deadline: deadlines.add(clock.now() + defaultTimeoutMs, () => {
        this.#pending.delete(requestId);
        reject(
          clientError('timed_out', `the broker did not answer '${call.type}' within ${defaultTimeoutMs} ms`),
        );
      }),
      repeatable: options.repeatable ?? false,
      sent: false,
    };
    this.#pending.set(requestId, pending);
    if (this.#connected) this.#send(pending);
    return promise;
  }

  connected(): void {
    this.#connected = true;
    for (const pending of this.#pending.values()) this.#send(pending);
  }

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

  endAll(error: SignalboxError): void {
    this.#connected = false;
    for (const requestId of [...this.#pending.keys()]) this.#settle(requestId)?.reject(error);
  }

  answered(frame: AnyAnswer): void {
    if (this.#pending.get(frame.request_id)?.answerType !== frame.type) return;
    this.#settle(frame.request_id)?.resolve(frame);
  }

  refused(requestId: string, frame: ErrorFrame): void {
    this.#settle(requestId)?.reject(brokerError(frame));
  }

  #settle(requestId: string): Pending | undefined {
    const pending = this.#pending.get(requestId);
    if (pending === undefined) return undefined;
    this.#pending.delete(requestId);
    this.#ports.deadlines.cancel(pending.deadline);
    return pending;
  }

  #send(pending: Pending): void {
    pending.sent = true;
    this.#ports.outbox.control(pending.frame);
  }
}
