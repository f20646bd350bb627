import { type CancelNotice, type Message, messageOf } from '@signalbox/protocol';
import type { DeadlineTable } from '../deadline-table.ts';
import { RecentMap } from '../recent-map.ts';
import { PassingMap } from '../requests/passing-map.ts';
import {
  AcceptedRequest,
  type BadBodyHandler,
  handBack,
  nackReason,
  type RunPorts,
  readBody,
  type ServeAnswer,
  type ServeHandler,
} from './accepted-request.ts';
import { EarlyCancels } from './early-cancels.ts';
import {
  type ReplyPorts,
  sendAck,
  sendNack,
  sendProgress,
  sendReply,
  sendWorking,
} from './served-replies.ts';

export interface ServePorts extends Omit<ReplyPorts, 'replied'> {
  deadlines: DeadlineTable;
  /** Takes back what was accepted and never started. */
  giveBack: (message: Message) => void;
}

export interface LaneOptions {
  kinds: readonly string[];
  handler: ServeHandler;
  /** Handlers that run at a time. */
  concurrency: number;
  badBody?: BadBodyHandler | undefined;
  /** The handler tells when work begins, with `ServedRequest.started`. */
  tellsStart?: boolean | undefined;
}

const remembered = 10_000;
const maxWaitingEphemeral = 1_024;

/** Runs the requests of some kinds: at most once at a time each, however often they are delivered. */
export class RequestRunner {
  readonly #ports: ServePorts & ReplyPorts;
  readonly #runPorts: RunPorts;
  readonly #options: LaneOptions;
  readonly #runs = new PassingMap<AcceptedRequest>();
  readonly #waiting = new Set<AcceptedRequest>();
  /** Ids by `seq`. */
  readonly #answered = new RecentMap<number, string>(remembered);
  #newestAnswered = 0;
  readonly #cancelled: EarlyCancels;
  readonly #idle: (() => void)[] = [];
  #active = 0;
  #stopping = false;

  constructor(options: LaneOptions, ports: ServePorts) {
    this.#options = options;
    this.#cancelled = new EarlyCancels(remembered, ports.clock.now);
    const replyPorts = { ...ports, replied: (run: AcceptedRequest) => this.#settle(run) };
    this.#ports = replyPorts;
    this.#runPorts = {
      now: ports.clock.now,
      epoch: ports.epoch,
      sendProgress: (run, body) => sendProgress(replyPorts, run, body),
      sendWorking: (run) => sendWorking(replyPorts, run),
    };
  }

  get inFlight(): number {
    return this.#runs.size;
  }

  serves(kind: string): boolean {
    return this.#options.kinds.includes(kind);
  }

  /** False if the loop is stopping and leaves the message to whoever serves next. */
  accept(message: Message): boolean {
    const { outbox, log } = this.#ports;
    const key = keyOf(message.from.agent, message.id);
    const known = this.#runs.get(key);
    if (known !== undefined) {
      this.#redelivered(known, message);
    } else if (message.seq !== undefined && this.#wasAnswered(message.seq, message.id)) {
      outbox.ack(message.seq);
    } else if (this.#cancelled.take(key)) {
      log({ event: 'cancelled_before_start', id: message.id });
      if (message.seq !== undefined) outbox.ack(message.seq);
    } else if (this.#stopping) {
      return false;
    } else {
      this.#admit(key, message);
    }
    return true;
  }

  /** A broker that was set up anew begins to count again: the id has the last word. */
  #wasAnswered(seq: number, id: string): boolean {
    return seq <= this.#newestAnswered && this.#answered.get(seq) === id;
  }

  #redelivered(run: AcceptedRequest, message: Message): void {
    run.seq = message.seq;
    run.epoch = this.#ports.epoch();
    if (run.isStarted) sendWorking(this.#ports, run);
  }

  /** Aborts the sender's own request; one that has not come yet is remembered. */
  cancel(notice: CancelNotice): void {
    const key = keyOf(notice.from.agent, notice.correlation_id);
    const run = this.#runs.get(key);
    if (run === undefined) {
      this.#cancelled.add(key);
      return;
    }
    run.end('cancelled');
    if (this.#waiting.delete(run)) {
      sendAck(this.#ports, run);
      this.#forget(run);
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    for (const run of this.#waiting) this.#handBack(run);
    this.#waiting.clear();
    if (this.#runs.size === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** The client is closed for good: nothing can be answered any more. */
  close(): void {
    this.#stopping = true;
    for (const run of this.#runs.values()) {
      run.end('closed');
      this.#forget(run);
    }
    this.#waiting.clear();
  }

  #admit(key: string, message: Message): void {
    const { outbox, deadlines, log } = this.#ports;
    const read = readBody(message);
    const { problem } = read;
    if (problem !== undefined && this.#options.badBody === undefined) {
      log({ event: 'bad_body', id: message.id, message: problem.message });
      if (message.seq !== undefined) {
        outbox.control({ type: 'nack', seqs: [message.seq], dead: true, reason: 'bad_body' });
      }
      return;
    }
    const full = this.#active >= this.#options.concurrency;
    if (full && message.seq === undefined && this.#waiting.size >= maxWaitingEphemeral) {
      log({ event: 'ephemeral_dropped', id: message.id, kind: message.kind });
      return;
    }
    const run = new AcceptedRequest(key, message, read, this.#runPorts);
    this.#runs.add(key, run);
    if (run.deadline !== undefined) run.expiry = deadlines.add(run.deadline, () => this.#expire(run));
    if (full) this.#waiting.add(run);
    else this.#start(run);
  }

  #start(run: AcceptedRequest): void {
    this.#active++;
    const { handler, badBody, tellsStart } = this.#options;
    if (!tellsStart) run.start();
    let answer: Promise<ServeAnswer>;
    try {
      answer = run.problem && badBody ? Promise.resolve(badBody(run.problem)) : handler(run);
    } catch (error) {
      answer = Promise.reject(error);
    }
    answer.then(
      (reply) => this.#finished(run, reply),
      (error: unknown) => this.#failed(run, error),
    );
  }

  #startNext(): void {
    this.#active--;
    const [next] = this.#waiting;
    if (next === undefined || this.#stopping) return;
    this.#waiting.delete(next);
    this.#start(next);
  }

  #finished(run: AcceptedRequest, answer: ServeAnswer): void {
    if (answer === handBack) {
      if (!run.isOver) this.#handBack(run);
    } else if (answer === undefined) {
      this.#settle(run);
    } else if (!run.isOver) {
      const isSent = sendReply(this.#ports, run, answer);
      if (!isSent) {
        this.#failed(run, new TypeError('the handler returned a body that is not a JSON value'));
        return;
      }
    }
    this.#startNext();
  }

  #failed(run: AcceptedRequest, error: unknown): void {
    this.#ports.log({
      event: 'handler_failed',
      id: run.message.id,
      message: messageOf(error),
      ended: run.ended,
    });
    if (run.ended === 'cancelled') this.#settle(run);
    else this.#nack(run, nackReason(error));
    this.#startNext();
  }

  #expire(run: AcceptedRequest): void {
    run.end('expired');
    // The broker has the last word on its lifetime: nacked, it is expired there and its sender told so.
    if (this.#waiting.delete(run)) this.#nack(run, 'its deadline passed before a handler was free');
  }

  /** The request is dealt with: acked unless its reply did that, now or when it comes again. */
  #settle(run: AcceptedRequest): void {
    if (run.isOver) return;
    if (run.seq !== undefined) {
      this.#answered.set(run.seq, run.message.id);
      if (run.seq > this.#newestAnswered) this.#newestAnswered = run.seq;
    }
    if (run.settledIn !== run.epoch) sendAck(this.#ports, run);
    this.#forget(run);
  }

  #nack(run: AcceptedRequest, reason: string): void {
    if (!run.isOver) sendNack(this.#ports, run, reason);
    this.#forget(run);
  }

  /** Leaves the request un-acked: whoever serves its kind next has it, here or after the lease. It costs no attempt. */
  #handBack(run: AcceptedRequest): void {
    this.#forget(run);
    if (run.epoch === this.#ports.epoch()) this.#ports.giveBack(run.unstarted());
  }

  #forget(run: AcceptedRequest): void {
    if (run.isOver) return;
    run.isOver = true;
    this.#runs.take(run.key);
    if (run.expiry !== undefined) this.#ports.deadlines.cancel(run.expiry);
    if (this.#runs.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }
}

function keyOf(agent: string, id: string): string {
  return `${agent} ${id}`;
}
