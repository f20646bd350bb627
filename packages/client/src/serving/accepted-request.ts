import { type Message, messageOf, parseJson, SignalboxError } from '@signalbox/protocol';
import type { Deadline } from '../deadline-table.ts';
import { clientError } from '../errors.ts';

/** A request in the hands of a {@link ServeHandler}. */
export interface ServedRequest {
  readonly message: Message;
  /** The body read as JSON; `undefined` without one. */
  readonly json: unknown;
  /** Aborted when the requester cancels, when the deadline passes, and when the client is closed. */
  readonly signal: AbortSignal;
  /** Monotonic milliseconds (the client's `now`, by default `performance.now()`); `undefined` without a lifetime. */
  readonly deadline: number | undefined;
  /** What is left of its lifetime, never below 0. */
  remainingMs(): number | undefined;
  /** Tells the requester how it goes; lossy, never stored. */
  progress(body: unknown): void;
  /**
   * Work begins: from now on, losing this consumer counts as an attempt. The loop says so itself before it calls the
   * handler, unless it serves with `tellsStart`.
   */
  started(): void;
}

/** The answer to a request; `body` is a JSON value. */
export interface ServedReply {
  kind: string;
  body: unknown;
  /** Told once what became of it: stored at the broker, or refused for good. Not called if the client is closed before. */
  settled?: (how: 'stored' | 'refused') => void;
}

/** What a handler returns for a request on which it has not begun to work: left un-acked, for whoever serves it next. */
export const handBack = Symbol('hand back');

/** A reply; `undefined` just acks the request. */
export type ServeAnswer = ServedReply | typeof handBack | undefined;

/** Answers a request. A rejection has it tried again later, by the broker's rules. */
export type ServeHandler = (request: ServedRequest) => Promise<ServeAnswer>;

/** Answers a request whose body is not JSON, or too large or deep to read; without one such a request becomes a dead letter. */
export type BadBodyHandler = (problem: SignalboxError) => ServedReply;

/** What the runs of a loop share. */
export interface RunPorts {
  /** Monotonic milliseconds. */
  now: () => number;
  epoch: () => number;
  sendProgress: (run: AcceptedRequest, body: string) => void;
  sendWorking: (run: AcceptedRequest) => void;
}

/** One request on its way through a serve loop: waiting, running, or answered and not yet receipted. */
export class AcceptedRequest implements ServedRequest {
  readonly key: string;
  readonly message: Message;
  readonly json: unknown;
  /** Why its body could not be read. */
  readonly problem: SignalboxError | undefined;
  readonly deadline: number | undefined;
  /** The newest place to ack it at; changes when it is redelivered. */
  seq: number | undefined;
  epoch: number;
  /** The epoch in which the reply carried its `settles`. */
  settledIn: number | undefined;
  ended: 'cancelled' | 'expired' | 'closed' | undefined;
  expiry: Deadline | undefined;
  isStarted = false;
  /** Its loop has done with it. */
  isOver = false;
  readonly #ports: RunPorts;
  #controller: AbortController | undefined;

  constructor(key: string, message: Message, read: ReadBody, ports: RunPorts) {
    this.key = key;
    this.message = message;
    this.json = read.json;
    this.problem = read.problem;
    this.seq = message.seq;
    this.epoch = ports.epoch();
    this.#ports = ports;
    this.deadline = message.remaining_ms === undefined ? undefined : ports.now() + message.remaining_ms;
  }

  /** Made when it is first asked for: most handlers of short work never look. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.ended !== undefined) this.#controller.abort(reasonFor(this.ended));
    }
    return this.#controller.signal;
  }

  // Handlers take a request apart (`({ json, progress }) => …`): these work on their own, and are made when asked for.
  get remainingMs(): () => number | undefined {
    return () => (this.deadline === undefined ? undefined : Math.max(0, this.deadline - this.#ports.now()));
  }

  get progress(): (body: unknown) => void {
    return (body) => {
      const text = JSON.stringify(body);
      if (text === undefined) throw clientError('invalid_message', 'a progress body must be a JSON value');
      if (!this.isOver) this.#ports.sendProgress(this, text);
    };
  }

  get started(): () => void {
    return () => this.start();
  }

  /** Says, once, that work begins. */
  start(): void {
    if (this.isStarted) return;
    this.isStarted = true;
    if (!this.isOver) this.#ports.sendWorking(this);
  }

  /** Its message as it stands now, for somebody else to serve. */
  unstarted(): Message {
    const { seq } = this;
    const remaining_ms = this.remainingMs();
    return {
      ...this.message,
      ...(seq !== undefined && { seq }),
      ...(remaining_ms !== undefined && { remaining_ms }),
    };
  }

  end(how: 'cancelled' | 'expired' | 'closed'): void {
    if (this.ended !== undefined) return;
    this.ended = how;
    this.#controller?.abort(reasonFor(how));
  }
}

function reasonFor(how: 'cancelled' | 'expired' | 'closed'): Error {
  if (how === 'expired') return clientError('timed_out', 'the deadline of the request passed');
  if (how === 'closed') return clientError('closed', 'the client was closed');
  return clientError('aborted', 'the requester cancelled');
}

/** Why a handler failed, as the broker keeps it: at most 500 characters. */
export function nackReason(error: unknown): string {
  return messageOf(error).slice(0, 500);
}

/** A body read as JSON, or why it could not be. */
export interface ReadBody {
  json: unknown;
  problem: SignalboxError | undefined;
}

export function readBody({ body }: Message): ReadBody {
  try {
    return { json: body === undefined ? undefined : parseJson(body), problem: undefined };
  } catch (error) {
    const problem =
      error instanceof SignalboxError ? error : new SignalboxError('bad_body', messageOf(error));
    return { json: undefined, problem };
  }
}
