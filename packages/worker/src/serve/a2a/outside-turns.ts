import { randomUUID } from 'node:crypto';
import type { BrokerClient } from '@signalbox/client';
import { startTimer as nodeTimer, type StartTimer } from '@signalbox/client/internal';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { backoffMs, type Fault, late, longestTimerMs, noFault, within } from '@signalbox/serving';
import { OutputTail, plainLine } from '../../runner/output/output-tail.ts';
import type { TurnEnd, TurnTask } from '../turn-task.ts';
import { hashOf, type NotedQuestion, type NotedTask, type NotedTasks } from './noted-tasks.ts';
import { type Peer, PeerError, type PeerTask } from './peer.ts';

/** The options of {@link outsideTurns}. Times in milliseconds. */
export interface OutsideTurnsOptions {
  /** Names the agent in reasons. */
  host: string;
  /** Reads the agent's card, which takes a bounded time. Rejects with a {@link PeerError}. */
  connect: () => Promise<Peer>;
  notes: NotedTasks;
  /** The agent or the group whose messages are taken. The ids of messages differ between recipients. */
  recipient: string;
  turnTimeoutMs: number;
  startTimer?: StartTimer;
  /** Passed the points at which a fault test kills the process. */
  fault?: Fault | undefined;
}

/** An agent of another system, as `worker serve` uses it. */
export interface OutsideTurns {
  run(task: TurnTask): Promise<TurnEnd>;
  /** Cancels the tasks of messages that ended while nobody served them. `find` asks the broker. Rejects if either can't be asked. */
  withdrawUnwanted(find: BrokerClient['find']): Promise<void>;
}

/** The waits between two looks at a task, and the shortest one while a stream tells of it. */
const pollPolicy = { firstMs: 50, longestMs: 10_000, jitter: 0.2 };
const followedMs = 2_000;
/** The most streams that a turn opens. */
const maxStreams = 3;
/** The time for which an agent that can't be reached is tried before the turn ends. */
const patienceMs = 30_000;
/** The longest part of what an agent says in a reason, and of the id of its task, in characters. */
const reasonLength = 300;
const idLength = 64;
/** The longest time in which a task is withdrawn. */
const cancelMs = 15_000;

/** The reasons for which nobody wants an answer any more. With others, such as a lost inbox, the message comes again. */
const unwanted = ['aborted', 'timed_out', 'stopped_by_operator'];

/**
 * Runs turns of an agent of another system, over A2A. A message is one task there, and its note says how far it is: on the disk before the
 * message leaves, and with the task's id before its end is waited for. So the next turn of the message goes on with its task.
 */
export function outsideTurns(options: OutsideTurnsOptions): OutsideTurns {
  let connecting: Promise<Peer> | undefined;
  const connect = async (signal: AbortSignal): Promise<Peer> => {
    connecting ??= options.connect();
    const mine = connecting;
    try {
      const peer = await within(mine, longestTimerMs, signal);
      if (peer === late) throw signal.reason;
      return peer;
    } catch (thrown) {
      if (connecting === mine) connecting = undefined;
      throw thrown;
    }
  };
  return {
    async run(task) {
      const turn = new OutsideTurn(task, { ...options, connect });
      const end = await turn.run();
      // Its card may have changed.
      if (!end.answer) connecting = undefined;
      return end;
    },
    async withdrawUnwanted(find) {
      const { notes, recipient } = options;
      for (const { id, from, contextId, taskId, answer } of await notes.tasks()) {
        const [state] = await find([{ agent: from, id }]);
        if (state === 'open' || state === 'orphaned' || state === 'ambiguous') continue;
        const messageId = messageIdOf({ id, from }, recipient);
        if (answer === undefined) {
          const signal = AbortSignal.timeout(cancelMs);
          const peer = await connect(signal);
          const there = taskId ?? (await peer.find({ contextId, messageId }, signal))?.id;
          if (there !== undefined) await peer.cancel(there, signal);
        }
        await notes.forgetTask(messageId);
      }
    },
  };
}

/**
 * Returns the id of a message at the agent. Senders choose the ids of their messages, and an agent may answer the second message of an id
 * with its answer to the first.
 */
function messageIdOf({ id, from }: { id: string; from: string }, recipient: string): string {
  return `${id}.${hashOf(recipient, from, id).slice(0, 12)}`;
}

type Failed = Pick<TurnEnd, 'problem'> & Partial<TurnEnd>;

/** Returns the id of a task, which its agent has chosen, for people. */
function shown(id: string): string {
  return plainLine(id, idLength);
}

interface TurnOptions extends Omit<OutsideTurnsOptions, 'connect'> {
  connect: (signal: AbortSignal) => Promise<Peer>;
}

/** One turn of one message. */
class OutsideTurn {
  readonly #task: TurnTask;
  readonly #options: TurnOptions;
  readonly #sent: { id: string; from: string };
  readonly #key: string;
  readonly #fault: Fault;
  readonly #tail = new OutputTail();
  readonly #late = new AbortController();
  readonly #signal: AbortSignal;
  #noted: NotedTask | undefined;

  constructor(task: TurnTask, options: TurnOptions) {
    const { id = '', from = '' } = task.messages[0] ?? {};
    this.#task = task;
    this.#options = options;
    this.#sent = { id, from };
    this.#key = messageIdOf(this.#sent, options.recipient);
    this.#fault = options.fault ?? noFault;
    this.#signal = AbortSignal.any([task.signal, this.#late.signal]);
  }

  async run(): Promise<TurnEnd> {
    const { turnTimeoutMs, startTimer = nodeTimer } = this.#options;
    const cancelTimer = startTimer(() => this.#late.abort(), Math.min(turnTimeoutMs, longestTimerMs));
    try {
      return await this.#take();
    } catch (thrown) {
      return await this.#failed(thrown);
    } finally {
      cancelTimer();
    }
  }

  get #place(): { thread: string; from: string } {
    const { thread = '', from = '' } = this.#task.messages[0] ?? {};
    return { thread, from };
  }

  async #take(): Promise<TurnEnd> {
    const { notes, connect } = this.#options;
    this.#noted = await notes.task(this.#key);
    const known = this.#noted;
    await this.#task.onStarting();
    this.#signal.throwIfAborted();
    this.#task.onStarted({ tail: this.#tail });
    if (known?.answer !== undefined) return this.#answered(known.answer);
    const peer = await connect(this.#signal);
    const found = known && (await this.#found(peer, known));
    if (found) return await this.#ended(peer, found);
    return await this.#send(peer);
  }

  /** Looks for the task of a message that was sent before, or perhaps was. */
  async #found(peer: Peer, known: NotedTask): Promise<PeerTask | undefined> {
    const { contextId, taskId } = known;
    const found = taskId
      ? await peer.get(taskId, this.#signal)
      : await peer.find({ contextId, messageId: this.#key }, this.#signal);
    if (found) await this.#note({ ...known, taskId: found.id });
    else this.#print(taskId ? `task ${taskId} is gone` : 'the message is not known there');
    return found;
  }

  /** Sends the message, which no earlier turn has, or whose task is gone. */
  async #send(peer: Peer): Promise<TurnEnd> {
    const { notes } = this.#options;
    const question = await notes.question(this.#place);
    const contextId = question?.contextId ?? this.#noted?.contextId ?? this.#task.session ?? randomUUID();
    const answers = question && { taskId: question.taskId, mark: question.mark };
    await this.#note({ ...this.#sent, contextId, ...(answers && { answers }) });
    this.#fault('serve.task.noted');
    const [message] = this.#task.messages;
    const sending = { messageId: this.#key, contextId, body: message?.body };
    let sent: PeerTask | { answer: string };
    try {
      sent = await peer.send({ ...sending, taskId: question?.taskId }, this.#signal);
    } catch (thrown) {
      if (!(thrown instanceof PeerError && thrown.kind === 'gone')) throw thrown;
      this.#task.onWarning('session_lost', `${thrown.message}; a task of its own begins`);
      await notes.forgetQuestion(this.#place);
      await this.#note({ ...this.#sent, contextId });
      sent = await peer.send(sending, this.#signal);
    }
    this.#fault('serve.task.sent');
    if ('answer' in sent) return await this.#answer(sent.answer);
    this.#print(`task ${sent.id}`);
    await this.#note({ ...this.#noted!, contextId: sent.contextId || contextId, taskId: sent.id });
    this.#fault('serve.task.known');
    return await this.#ended(peer, sent);
  }

  /** Waits for the end of a task, or for its question. A stream only tells earlier when to look. */
  async #ended(peer: Peer, first: PeerTask): Promise<TurnEnd> {
    const { id } = first;
    const over = new AbortController();
    const signal = AbortSignal.any([this.#signal, over.signal]);
    let stream: Promise<boolean> | undefined;
    let streams = 0;
    let task = first;
    try {
      for (let looks = 0; this.#works(task); looks++) {
        if (!stream && streams++ < maxStreams) stream = peer.follow(id, (text) => this.#print(text), signal);
        const pollMs = backoffMs(pollPolicy, Math.min(looks, 20), Math.random());
        const told = await this.#wait(stream ? Math.max(followedMs, pollMs) : pollMs, stream);
        // A stream that tells nothing, or of an end which is none, is not opened again and again.
        if (told !== undefined) stream = undefined;
        if (told === false) await this.#wait(pollMs);
        const next = await this.#look(peer, id);
        if (!next) return await this.#gone(id);
        task = next;
      }
    } finally {
      over.abort();
    }
    return await this.#conclude(task);
  }

  /** Returns false for a task that has ended, or that asks something new. */
  #works({ state, mark }: PeerTask): boolean {
    const old = this.#noted?.answers?.mark;
    return state === 'works' || (state === 'asks' && mark !== '' && mark === old);
  }

  async #look(peer: Peer, id: string): Promise<PeerTask | undefined> {
    const since = performance.now();
    for (let tries = 0; ; tries++) {
      try {
        return await peer.get(id, this.#signal);
      } catch (thrown) {
        const mayPass = thrown instanceof PeerError && thrown.kind !== 'final';
        if (!mayPass || performance.now() - since > patienceMs) throw thrown;
        this.#print(thrown.message);
      }
      await this.#wait(backoffMs(pollPolicy, Math.min(tries, 20), Math.random()));
    }
  }

  /** Waits for a time, or until `news` resolves, and returns what that says. Rejects when the turn is to end. */
  async #wait<T>(ms: number, news?: Promise<T>): Promise<T | undefined> {
    this.#signal.throwIfAborted();
    const { startTimer = nodeTimer } = this.#options;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const stop = (): void => resolve(undefined);
    const cancelTimer = startTimer(stop, ms);
    this.#signal.addEventListener('abort', stop, { once: true });
    const told = await (news ? Promise.race([promise, news]) : promise);
    cancelTimer();
    this.#signal.removeEventListener('abort', stop);
    this.#signal.throwIfAborted();
    return told;
  }

  /** Decides about the message of a task that has ended, or asks. */
  async #conclude({ id, state, text, contextId, mark }: PeerTask): Promise<TurnEnd> {
    const { host, notes } = this.#options;
    if (state === 'asks') {
      const question: NotedQuestion = { taskId: id, mark, contextId: contextId || this.#noted!.contextId };
      await notes.noteQuestion(this.#place, question);
      return await this.#answer(text === '' ? `${host} asks for more, and does not say what.` : text);
    }
    if (this.#noted?.answers) await notes.forgetQuestion(this.#place);
    if (state === 'completed') return await this.#answer(text);
    await notes.forgetTask(this.#key);
    const said = text === '' ? '' : `: ${plainLine(text, reasonLength)}`;
    return this.#end({
      problem: `${host} says that the task ${shown(id)} is ${state}${said}`,
      isFinal: true,
    });
  }

  async #gone(id: string): Promise<TurnEnd> {
    const { host, notes } = this.#options;
    await notes.forgetTask(this.#key);
    return this.#end({ problem: `${host} has forgotten the task ${shown(id)}` });
  }

  /** Notes an answer, so that no other one is asked for until the broker has it. */
  async #answer(answer: string): Promise<TurnEnd> {
    if (this.#task.isQuestion) await this.#note({ ...this.#noted!, answer });
    else await this.#options.notes.forgetTask(this.#key);
    this.#fault('serve.task.answered');
    return this.#answered(answer);
  }

  #answered(text: string): TurnEnd {
    this.#print(text);
    const session = this.#noted?.contextId;
    return this.#end({
      problem: undefined,
      answer: { text, ...(session !== undefined && { session }) },
      onSettled: () => void this.#options.notes.forgetTask(this.#key).catch(() => {}),
    });
  }

  async #failed(thrown: unknown): Promise<TurnEnd> {
    const { host } = this.#options;
    const { signal } = this.#task;
    if (signal.aborted) {
      const { reason } = signal;
      if (reason instanceof SignalboxError && unwanted.includes(reason.code)) {
        await this.#withdraw();
        return this.#end({ problem: 'nobody wants its answer' });
      }
      const id = this.#noted?.taskId;
      const task = id === undefined ? 'the message may be there' : `the task ${shown(id)} goes on there`;
      return this.#end({ problem: undefined, leaves: `${host} is not waited for any more; ${task}` });
    }
    if (this.#late.signal.aborted)
      return (await this.#withdraw()) ?? this.#end({ problem: undefined, isLate: true });
    if (!(thrown instanceof PeerError)) throw thrown;
    const { kind, message } = thrown;
    const isUnavailable = kind === 'away' || kind === 'refused' || kind === 'forbidden';
    // What was not sent is not looked for.
    if (this.#noted?.taskId === undefined && kind !== 'lost' && kind !== 'failed') await this.#forget();
    const unknown = kind === 'lost' && this.#noted?.taskId === undefined;
    const problem = unknown ? `${message}, and may have the message` : message;
    return this.#end({ problem, isUnavailable, isFinal: kind === 'final' || kind === 'gone' });
  }

  /** Cancels the task. Returns the end of the turn if the task had ended with an answer before. */
  async #withdraw(): Promise<TurnEnd | undefined> {
    const noted = this.#noted;
    if (!noted) return undefined;
    const signal = AbortSignal.timeout(cancelMs);
    try {
      const peer = await this.#options.connect(signal);
      const { contextId } = noted;
      const id = noted.taskId ?? (await peer.find({ contextId, messageId: this.#key }, signal))?.id;
      if (id !== undefined && !(await peer.cancel(id, signal))) {
        const task = await peer.get(id, signal);
        if (task && !this.#works(task)) return await this.#conclude(task);
      }
      await this.#forget();
    } catch (thrown) {
      // It is looked at again when the message comes again.
      const task = noted.taskId === undefined ? 'of the message' : shown(noted.taskId);
      this.#task.onWarning('not_canceled', `the task ${task} could not be canceled: ${messageOf(thrown)}`);
    }
    return undefined;
  }

  async #forget(): Promise<void> {
    await this.#options.notes.forgetTask(this.#key);
  }

  async #note(note: NotedTask): Promise<void> {
    this.#noted = note;
    await this.#options.notes.noteTask(this.#key, note);
  }

  #print(text: string): void {
    this.#tail.add(Buffer.from(`${text}\n`));
    this.#task.onOutput(this.#tail);
  }

  #end(end: Failed): TurnEnd {
    // A thread goes on with its context after a failure, too.
    const session = this.#noted?.contextId;
    return {
      ...{
        code: null,
        endedBy: null,
        isLate: false,
        isSessionLost: false,
        isFinal: false,
        isUnavailable: false,
      },
      ...{ session, denials: [], answer: undefined, told: '', tail: this.#tail },
      ...end,
    };
  }
}
