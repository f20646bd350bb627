import { createHmac, createSecretKey, type KeyObject, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { BrokerClient } from '@signalbox/client';
import { type Message, messageOf, outsideId, SignalboxError } from '@signalbox/protocol';
import { visibleLine } from '@signalbox/protocol/internal';
import {
  type A2aLimits,
  type Fault,
  late,
  longestTimerMs,
  noFault,
  timerMs,
  within,
} from '@signalbox/serving';
import {
  isFinalState,
  type NewOutsideTask,
  type OutsideChange,
  type OutsideScope,
  type OutsideTask,
  type OutsideTasks,
} from '@signalbox/store/outside-tasks';
import type { OutsideAgent } from '../config/config.ts';
import type { Log } from '../log.ts';
import { askBody } from './ask-body.ts';
import { brokerReplaced, endOf, refusedFor, refusedForGood, unanswered } from './task-ends.ts';

/** The dependencies of {@link OutsideAsks}. Times in milliseconds. */
export interface OutsideAsksOptions {
  tasks: OutsideTasks;
  agents: Readonly<Record<string, OutsideAgent>>;
  limits: A2aLimits;
  deadlineMs: number;
  keepMs: number;
  log: Log;
  /** Passed the points at which a fault test kills the process. */
  fault?: Fault | undefined;
  /** Returns the time in epoch milliseconds. */
  now?: () => number;
}

/** A message that a caller sends. */
export interface OutsideMessage extends OutsideScope {
  /** The id that the caller gave it. */
  messageId: string;
  /** The context that the caller named, if it did. */
  context: string | undefined;
  hash: string;
  /** The message as JSON text. */
  message: string;
}

/** A message that has no receipt yet. */
interface Sending {
  caller: string;
  /** Ends the wait for the receipt. */
  abort: AbortController;
  /** Called when the task has ended, which may be before the receipt comes. */
  answered: () => void;
  /** Resolves when nothing is waited for any more, with the refusal that the caller is told, if there is one. */
  ended: Promise<SignalboxError | undefined>;
}

/** The longest wait for the broker's receipt before a caller is told that its task is stored, in milliseconds. */
const receiptMs = 5_000;
/** The wait before a message that the broker refuses for now is sent again, in milliseconds. */
const againMs = 5_000;
/** The time after a task's deadline in which the broker's word on its end is waited for, in milliseconds. */
const graceMs = 10 * 60_000;
/** The code of an error of the disk, after which nothing is promised any more. */
const diskFailed = 'storage_failed';
/** The time for which answers wait to be acked together, in milliseconds. A new task does not wait for their sync then. */
const ackMs = 20;
/** The most messages of a caller that are sent at a time when it comes back. */
const sentAtOnce = 16;
/** The most messages that one look into an inbox reads. */
const peekedMessages = 100;

/**
 * The asks that callers from outside make of agents. Each is a message to the agent, sent with the caller's token, and a row of the table,
 * which is on disk before the message leaves. The answer comes to the caller's own inbox, and is acked when its row is on disk.
 */
export class OutsideAsks implements AsyncDisposable {
  readonly #options: OutsideAsksOptions;
  readonly #now: () => number;
  readonly #fault: Fault;
  /** Made once: Node takes long for it. */
  readonly #key: KeyObject;
  /** The connections of each caller. The first one reads the inbox. */
  readonly #clients = new Map<string, BrokerClient[]>();
  /** The messages that have no receipt yet, by their ids. */
  readonly #sending = new Map<string, Sending>();
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #stop = new AbortController();
  /** Answers whose rows may not be on the disk yet, by the connections that got them. */
  readonly #unacked = new Map<BrokerClient, number[]>();
  #acking: NodeJS.Timeout | undefined;
  readonly #failed = Promise.withResolvers<Error>();
  readonly #sweeper: NodeJS.Timeout;

  constructor(options: OutsideAsksOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#fault = options.fault ?? noFault;
    this.#key = createSecretKey(options.tasks.key);
    this.#sweep();
    this.#sweeper = setInterval(() => this.#sweep(), Math.min(60_000, timerMs(options.keepMs / 4)));
    this.#sweeper.unref();
  }

  /** Aborted when no more tasks are served. */
  get ending(): AbortSignal {
    return this.#stop.signal;
  }

  /** Resolves with the error when the disk has failed: nothing is promised any more. */
  get failed(): Promise<Error> {
    return this.#failed.promise;
  }

  /** Adds a connection of a caller. It reads the caller's inbox, unless another one does. */
  async join(client: BrokerClient): Promise<void> {
    const clients = this.#clients.get(client.agent) ?? [];
    this.#clients.set(client.agent, clients);
    clients.push(client);
    void client.closed.then(() => this.#leave(client));
    if (clients[0] === client) await this.#read(client);
  }

  /** Returns true if messages of a caller have no receipt yet. */
  isSending(caller: string): boolean {
    return [...this.#sending.values()].some((sending) => sending.caller === caller);
  }

  /** Returns a task of a scope; `undefined` if there is none, or if it is another's. */
  find(id: string, { caller, agent, tenant }: OutsideScope): OutsideTask | undefined {
    const task = this.#options.tasks.find(id);
    return task?.caller === caller && task.agent === agent && task.tenant === tenant ? task : undefined;
  }

  /**
   * Begins the task of a message, or returns the one that was begun before. Rejects with `SignalboxError`: `invalid_message` if the message
   * id belongs to another message or context, else the refusal of the broker, or of a limit, after which the message may be sent again.
   */
  async send(client: BrokerClient, message: OutsideMessage): Promise<OutsideTask> {
    const { tasks } = this.#options;
    const { messageId, context, hash, caller, agent, tenant } = message;
    const id = this.#idOf('task', [agent, caller, tenant, messageId]);
    const known = tasks.find(id);
    if (known) {
      if (known.hash !== hash || (context !== undefined && context !== known.context)) {
        const problem = `the messageId '${visibleLine(messageId)}' belongs to another message`;
        throw new SignalboxError('invalid_message', problem);
      }
    } else {
      this.#requireRoom(message);
      this.#requireSize(client, message);
      const now = this.#now();
      const task = {
        ...{ id, caller, agent, tenant, hash, message: message.message },
        context: context ?? randomUUID(),
        createdAt: now,
        deadlineAt: now + this.#options.deadlineMs,
      };
      const stored = tasks.add(task);
      this.#deliver(client, task, { stored });
    }
    const sending = this.#sending.get(id);
    const refusal = sending && (await within(sending.ended, receiptMs, this.ending));
    if (refusal !== undefined && refusal !== late) throw refusal;
    return tasks.find(id)!;
  }

  /** Resolves with a task when it has ended, or as it is when `signal` is aborted. */
  async ended(task: OutsideTask, signal: AbortSignal): Promise<OutsideTask> {
    let newest = task;
    while (!isFinalState(newest.state) && !signal.aborted) {
      await this.changed(newest, signal);
      const found = this.#options.tasks.find(task.id);
      if (!found) break;
      newest = found;
    }
    return newest;
  }

  /** Resolves when a task is no longer in the state in which it was read, or when `signal` is aborted. */
  async changed({ id, state }: OutsideTask, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#options.tasks.find(id)?.state !== state) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const listeners = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, listeners.add(resolve));
    const stop = () => resolve();
    signal.addEventListener('abort', stop, { once: true });
    await promise;
    // Node keeps a signal that depends on others as long as it has a listener.
    signal.removeEventListener('abort', stop);
    listeners.delete(resolve);
    if (listeners.size === 0) this.#listeners.delete(id);
  }

  /**
   * Withdraws a task, and returns it. It is canceled, unless the broker had stored its answer before. Rejects if the broker can't be asked;
   * the task goes on then.
   */
  async cancel(client: BrokerClient, task: OutsideTask): Promise<OutsideTask> {
    const { tasks } = this.#options;
    const { id } = task;
    const to = this.#options.agents[task.agent]?.to;
    if (to === undefined || isFinalState(task.state)) return task;
    const sending = this.#sending.get(id);
    sending?.abort.abort();
    await sending?.ended;
    try {
      await client.withdraw(to, id);
      this.#fault('a2a.task.withdrawn');
      const answered = await this.#answered(client);
      // The answer was stored first: the reader of the inbox has it, or gets it.
      if (answered.has(id)) return await this.ended(task, AbortSignal.timeout(receiptMs));
    } catch (thrown) {
      const now = tasks.find(id);
      if (now && !isFinalState(now.state) && !now.isSent) this.#deliver(client, now);
      throw thrown;
    }
    this.#change(id, { state: 'canceled', at: this.#now() });
    await this.#synced();
    return tasks.find(id) ?? task;
  }

  list(query: Parameters<OutsideTasks['list']>[0]): ReturnType<OutsideTasks['list']> {
    return this.#options.tasks.list(query);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#sweeper);
    clearTimeout(this.#acking);
    this.#stop.abort();
    const sending = [...this.#sending.values()];
    for (const { abort } of sending) abort.abort();
    await Promise.all(sending.map(({ ended }) => ended));
  }

  #idOf(what: string, parts: readonly string[]): string {
    const hash = createHmac('sha256', this.#key).update(JSON.stringify([what, ...parts]));
    return outsideId(hash.digest('base64url'));
  }

  #requireRoom({ caller, message }: OutsideMessage): void {
    const { tasks, limits } = this.#options;
    const { tasks: count, bytes } = tasks.usage(caller);
    const size = Buffer.byteLength(message);
    const problem =
      count >= limits.tasksPerCaller
        ? `${limits.tasksPerCaller} of your tasks are kept here (a2a.limits.tasksPerCaller)`
        : bytes + size > limits.bytesPerCaller
          ? `your tasks take ${limits.bytesPerCaller} bytes here (a2a.limits.bytesPerCaller)`
          : tasks.bytes + size > limits.bytes
            ? `the tasks of all callers take ${limits.bytes} bytes here (a2a.limits.bytes)`
            : undefined;
    if (problem === undefined) return;
    throw new SignalboxError('quota_exceeded', `${problem}; try again when older ones are forgotten`, {
      retryable: true,
    });
  }

  #requireSize(client: BrokerClient, { message }: OutsideMessage): void {
    const max = client.welcome.limits.message?.bytes;
    const bytes = Buffer.byteLength(JSON.stringify(askBody(message)));
    if (max === undefined || bytes <= max) return;
    throw new SignalboxError(
      'message_too_large',
      `the message has ${bytes} bytes as JSON; the agent takes at most ${max} (broker.limits.message.bytes)`,
    );
  }

  /** Sends the message of a task when it is `stored`. The caller of a new one waits, and is told if the broker refuses it for now. */
  #deliver(client: BrokerClient, task: NewOutsideTask, { stored }: { stored?: Promise<void> } = {}): void {
    const { id, agent, context, caller, tenant, deadlineAt } = task;
    const to = this.#options.agents[agent]?.to;
    const ttlMs = deadlineAt - this.#now();
    if (to === undefined || ttlMs <= 0) {
      const reason = to === undefined ? 'this agent is no longer served here' : unanswered;
      this.#change(id, { state: 'failed', at: this.#now(), reason });
      return;
    }
    const abort = new AbortController();
    const thread = this.#idOf('thread', [agent, caller, tenant, context]);
    const message = { to, kind: 'ask', id, thread, body: askBody(task.message), ttlMs };
    const options = { timeoutMs: longestTimerMs, signal: abort.signal };
    const startedAt = performance.now();
    const isAwaited = () => stored !== undefined && performance.now() - startedAt < receiptMs;
    const deliver = async () => {
      await (stored ?? this.#options.tasks.synced()).catch((thrown) => this.#diskFailed(thrown));
      this.#fault('a2a.task.stored');
      await client.deliver(message, options);
      this.#fault('a2a.task.asked');
      this.#options.tasks.sent(id);
    };
    const delivered = deliver().then(
      () => undefined,
      (thrown: SignalboxError) => this.#refused(client, task, thrown, isAwaited()),
    );
    const answered = Promise.withResolvers<undefined>();
    this.#sending.set(id, {
      caller,
      abort,
      answered: () => answered.resolve(undefined),
      ended: Promise.race([delivered, answered.promise]),
    });
    void delivered.finally(() => this.#sending.delete(id));
  }

  /** Handles the refusal of a message. Returns the error for a caller that waits and may send it again. */
  #refused(
    client: BrokerClient,
    { id }: NewOutsideTask,
    error: SignalboxError,
    isAwaited: boolean,
  ): SignalboxError | undefined {
    const { tasks, log } = this.#options;
    if (error.code === 'aborted' || error.code === diskFailed) return undefined;
    if (client.state.name === 'closed') {
      // Another connection of the caller sends it again under the same id, or the next one does.
      const other = this.#clients.get(client.agent)?.find((one) => one !== client);
      if (other) this.#sendAgain(other, id);
      return undefined;
    }
    log({ event: 'a2a_refused', level: 'info', id, code: error.code, message: error.message });
    if (error.details.mayBeStored === true) {
      this.#change(id, { state: 'failed', at: this.#now(), reason: brokerReplaced });
    } else if (!error.retryable) {
      this.#change(id, { state: 'rejected', at: this.#now(), reason: refusedForGood(error.code) });
    } else if (isAwaited) {
      tasks.remove(id);
      this.#tell(id);
      return new SignalboxError(error.code, refusedFor[error.code] ?? `refused: ${error.code}`, {
        retryable: true,
      });
    } else {
      this.#sendAgain(client, id);
    }
    return undefined;
  }

  #sendAgain(client: BrokerClient, id: string): void {
    void delay(againMs, undefined, { signal: this.ending, ref: false }).then(
      () => {
        const task = this.#options.tasks.find(id);
        const isWanted = task && !isFinalState(task.state) && !task.isSent && !this.#sending.has(id);
        if (isWanted && client.state.name !== 'closed') this.#deliver(client, task);
      },
      () => {},
    );
  }

  #leave(client: BrokerClient): void {
    const clients = this.#clients.get(client.agent) ?? [];
    const wasReader = clients[0] === client;
    const left = clients.filter((one) => one !== client);
    if (left.length === 0) this.#clients.delete(client.agent);
    else this.#clients.set(client.agent, left);
    const [next] = left;
    if (!wasReader || !next) return;
    this.#read(next).catch((thrown) => this.#unreadable(next, thrown));
  }

  #unreadable(client: BrokerClient, thrown: unknown): void {
    const { log } = this.#options;
    log({ event: 'a2a_inbox_unread', level: 'warn', agent: client.agent, message: messageOf(thrown) });
  }

  /** Takes the answers from a caller's inbox, and sends what had no receipt when the bridge or the connection ended. */
  async #read(client: BrokerClient): Promise<void> {
    client.onMessage((message) => {
      if (message.kind !== 'progress' || message.correlation_id === undefined) return;
      if (this.#options.tasks.find(message.correlation_id)?.state !== 'submitted') return;
      this.#change(message.correlation_id, { state: 'working', at: this.#now() });
    });
    const { messages } = await client.subscribe();
    void this.#takeAnswers(client, messages).catch((thrown) => {
      if (client.state.name !== 'closed') this.#unreadable(client, thrown);
    });
    this.#sendUnsent(client).catch((thrown) => this.#unreadable(client, thrown));
  }

  /** Sends what had no receipt, the oldest first, a few at a time. */
  async #sendUnsent(client: BrokerClient): Promise<void> {
    const { tasks } = this.#options;
    const unsent = tasks.unsent(client.agent).filter((id) => !this.#sending.has(id));
    if (unsent.length === 0) return;
    // One that was answered is no longer known to the broker after a time, and would be asked again.
    const answered = await this.#answered(client);
    for (const id of unsent) {
      const task = tasks.find(id);
      if (!task || isFinalState(task.state) || answered.has(id) || this.#sending.has(id)) continue;
      if (client.state.name === 'closed' || this.ending.aborted) return;
      this.#deliver(client, task);
      const busy = [...this.#sending.values()].filter(({ caller }) => caller === client.agent);
      if (busy.length >= sentAtOnce) await Promise.race(busy.map(({ ended }) => ended));
    }
  }

  async #takeAnswers(client: BrokerClient, messages: AsyncIterable<Message>): Promise<void> {
    for await (const message of messages) {
      const { seq, correlation_id: id } = message;
      if (seq === undefined) continue;
      const end = endOf(message);
      const task = id === undefined ? undefined : this.#options.tasks.find(id);
      if (end && id !== undefined && task?.caller === client.agent)
        this.#change(id, { ...end, at: this.#now() });
      // Nobody reads other messages to a caller: their senders are told so.
      if (end) this.#ackLater(client, seq);
      else await client.nack([seq], { dead: true, reason: 'a caller from outside reads only answers' });
    }
  }

  /** Acks an answer when its row is on the disk, together with others. Until then it would come again. */
  #ackLater(client: BrokerClient, seq: number): void {
    this.#unacked.set(client, [...(this.#unacked.get(client) ?? []), seq]);
    this.#acking ??= setTimeout(() => {
      this.#acking = undefined;
      const unacked = [...this.#unacked];
      this.#unacked.clear();
      void this.#synced()
        .then(() => {
          this.#fault('a2a.answer.stored');
          return Promise.all(unacked.map(([of, seqs]) => of.ack(seqs)));
        })
        .catch(() => {});
    }, ackMs);
  }

  /** Returns the ids of the asks whose ends wait in a caller's inbox. */
  async #answered(client: BrokerClient): Promise<Set<string>> {
    const answered = new Set<string>();
    let after: number | undefined;
    for (;;) {
      const page = await client.peek({
        limit: peekedMessages,
        bodies: false,
        ...(after !== undefined && { after }),
      });
      for (const { correlation_id: id } of page) if (id !== undefined) answered.add(id);
      const last = page.at(-1);
      if (page.length < peekedMessages || last?.seq === undefined) return answered;
      after = last.seq;
    }
  }

  #change(id: string, change: OutsideChange): void {
    if (!this.#options.tasks.change(id, change)) return;
    if (isFinalState(change.state)) this.#sending.get(id)?.answered();
    this.#tell(id);
  }

  /** Resolves when all changes are on the disk. */
  #synced(): Promise<void> {
    return this.#options.tasks.synced().catch((thrown) => this.#diskFailed(thrown));
  }

  #diskFailed(thrown: unknown): never {
    const error = new SignalboxError(diskFailed, messageOf(thrown), { cause: thrown });
    this.#failed.resolve(error);
    throw error;
  }

  #tell(id: string): void {
    for (const listener of this.#listeners.get(id) ?? []) listener();
  }

  /** Forgets old tasks, and ends those of connected callers whose ends never came. */
  #sweep(): void {
    const { tasks, keepMs } = this.#options;
    const now = this.#now();
    tasks.forgetEnded(now - keepMs);
    for (const [caller, [reader]] of this.#clients) {
      if (reader?.state.name !== 'ready') continue;
      for (const id of tasks.overdue(caller, now - graceMs))
        this.#change(id, { state: 'failed', at: now, reason: unanswered });
    }
  }
}
