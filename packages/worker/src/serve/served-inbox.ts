import {
  type BrokerClient,
  handBack,
  type ServeAnswer,
  type ServedRequest,
  type ServeFailure,
} from '@signalbox/client';
import type { StartTimer } from '@signalbox/client/internal';
import { isJsonObject, isOutsideId, messageOf, replyIdOf, SignalboxError } from '@signalbox/protocol';
import { longestTimerMs } from '@signalbox/serving';
import { checkedOutOf, isQuestion } from '../mailbox/inbox/checked-out-messages.ts';
import { type InboxMessage, inboxMessage } from '../mailbox/inbox/inbox-message.ts';
import { NoteBundles } from './note-bundles.ts';
import type { ProgramCircuit } from './program-circuit.ts';
import { TurnQueue } from './turn-queue.ts';
import { turnThreadOf } from './turn-thread.ts';

/** The messages of one turn: one of kind ask or task, or several others of one thread. */
export interface ServedTurn {
  readonly thread: string | undefined;
  /** The messages as an agent gets them, with their ages now. */
  readonly messages: readonly InboxMessage[];
  readonly seqs: readonly number[];
  /** True if a sender waits for a reply. */
  readonly isQuestion: boolean;
  /**
   * Aborted when nobody wants the turn any more: its messages were withdrawn or expired, the inbox is lost, or an operator stopped the
   * work on one of them.
   */
  readonly signal: AbortSignal;
  /**
   * Tells the broker that work begins: losing the messages counts as an attempt from now on. Resolves when the broker knows it, or does not
   * answer.
   */
  started(): Promise<void>;
  /** Asks the broker whether the agent has answered the question already. */
  isAnswered(): Promise<boolean>;
}

/**
 * The decision about a turn's messages. Messages that are done are acked, with a `reply` by the commit that stores it. Others are delivered
 * again, as the failure says.
 */
export type TurnResult =
  /** `settled` is called when the broker has stored the reply, or refused it for good. */
  | { isDone: true; reply?: string; settled?: () => void }
  | { isDone: false; reason: string }
  /** `isApart`: the failure may be that of one of several messages, so that each is tried once more alone. */
  | { isDone: false; failure: ServeFailure; isApart?: true };

export interface ServedInboxOptions {
  /** The most turns at a time. */
  concurrency: number;
  /** The group whose messages are taken, in place of the client's own inbox. The client has an address of `groupAddress` then. */
  group?: string | undefined;
  /** True: no message waits for others. In a group another member may be free. */
  takesAlone: boolean;
  /** The longest time that a note waits for others, in milliseconds. */
  noteWaitMs: number;
  startTimer: StartTimer;
  /** Decides which turn may begin. */
  circuit: ProgramCircuit;
  /** Names this process to the broker. */
  consumerId: string;
  /** Runs a turn to its end. A rejection gives its messages back. */
  runTurn: (turn: ServedTurn) => Promise<TurnResult>;
  /** Called when the broker refused the answer to a message, which is a dead letter now. */
  onAnswerRefused: (message: { id: string; from: string }, why: string) => void;
  /** Called when the tools or the mailbox of the agent's role have changed. */
  onToolsChanged: () => void;
  /** Called when the number of messages that wait, or of turns that run, has changed. */
  onChange: (counts: { waiting: number; running: number }) => void;
}

/** The inbox of a served agent, which makes turns of messages. */
export interface ServedInbox {
  /** The number of messages that waited at the broker when it was taken. */
  readonly pending: number;
  /** Begins no further turn, and gives back the waiting messages, which costs no attempt. Returns their number. */
  stopTaking(): number;
  /** Resolves when the running turns have ended and the broker knows the results for their messages, or the client is closed. */
  finished(): Promise<void>;
}

/** A message from its arrival to its end. */
interface Entry {
  readonly request: ServedRequest;
  readonly thread: string | undefined;
  readonly bytes: number;
  isRunning: boolean;
  /** True if no turn is to begin for it any more. */
  isOver: boolean;
  settle: (answer: ServeAnswer) => void;
  fail: (reason: Error) => void;
}

interface Job {
  readonly thread: string | undefined;
  readonly entries: readonly Entry[];
  /** The sender and the id of the first message. */
  readonly key: string;
  readonly sender: string;
}

/** A message with a deadline is given up this long before it if the program is failing: its sender is told why, and not only that it is late. */
const giveUpBeforeMs = 500;
/** The time after which a message of a group comes again, perhaps to another member, if this one's program is failing. */
const groupRetryMs = 5_000;
/** The shortest wait of a message that has a deadline, in milliseconds. */
const shortestRetryMs = 1_000;

/** Takes the agent's inbox, or messages of a group, of all kinds. Rejects as `BrokerClient.serve`. */
export async function openServedInbox(
  client: BrokerClient,
  options: ServedInboxOptions,
): Promise<ServedInbox> {
  const { concurrency, group, takesAlone, noteWaitMs, startTimer, consumerId, circuit } = options;
  let isStopping = false;
  /** Messages that begin a turn of their own, because one with others has failed for good. */
  const apart = new Set<string>();
  let cancelTimer = (): void => {};
  const queue = new TurnQueue<Job>({
    concurrency,
    choose: (jobs) => circuit.choose(jobs),
    run: async (job) => {
      const ended = circuit.begin();
      await runJob(client, job, { ...options, apart });
      ended();
      lookAgainLater();
    },
    onChange: changed,
  });
  /** While the program is failing, looks at the waiting messages again when the next probe may begin, and before a deadline. */
  function lookAgainLater(): void {
    cancelTimer();
    const waiting = queue.waiting.flatMap(({ entries }) => entries);
    if (circuit.failing === undefined || waiting.length === 0) return;
    const deadline = Math.min(...waiting.map(timeToGiveUp));
    // A probe that could begin now begins without a timer, as soon as its turn comes.
    const probe = circuit.waitMs === 0 ? longestTimerMs : circuit.waitMs;
    cancelTimer = startTimer(
      () => {
        giveUpLate(waiting);
        queue.startNext();
        lookAgainLater();
      },
      Math.max(1, Math.min(deadline, probe, longestTimerMs)),
    );
  }
  function giveUpLate(entries: readonly Entry[]): void {
    for (const entry of entries) {
      if (entry.isRunning || entry.isOver || circuit.failing === undefined || timeToGiveUp(entry) > 0)
        continue;
      entry.isOver = true;
      entry.settle(unavailable(circuit.failing, { dead: true }));
    }
  }
  const notes = new NoteBundles<Entry>({ waitMs: noteWaitMs, startTimer, onReady: enqueue });
  function changed(): void {
    options.onChange({ waiting: queue.waiting.length + notes.count, running: queue.running.length });
  }
  function enqueue(entries: readonly Entry[]): void {
    const [first] = entries;
    if (!first) return;
    const { from } = first.request.message;
    const job = { thread: first.thread, entries, key: keyOf(first.request), sender: from.agent };
    queue.add(job);
    if (circuit.failing === undefined || first.isRunning) return;
    if (group === undefined) {
      lookAgainLater();
      return;
    }
    // Another member may be able to take it.
    queue.remove(job);
    first.settle(unavailable(circuit.failing, { retryMs: groupRetryMs }));
  }
  const loop = await client.serve(
    ['*'],
    async (request) => {
      // An ephemeral message is for connected programs, and starts none.
      if (request.message.seq === undefined) {
        if (tellsOfTools(request)) options.onToolsChanged();
        return undefined;
      }
      if (isStopping) return handBack;
      const { promise, resolve, reject } = Promise.withResolvers<ServeAnswer>();
      const entry = entryOf(request, { settle: resolve, fail: reject });
      request.signal.addEventListener('abort', () => {
        if (entry.isRunning) return;
        entry.isOver = true;
        if (notes.remove(entry)) changed();
        reject(request.signal.reason);
      });
      const isAlone = apart.delete(keyOf(request)) || takesAlone;
      if (isAlone || isQuestion(request.message.kind)) enqueue([entry]);
      else {
        notes.add(entry);
        changed();
      }
      return await promise;
    },
    { tellsStart: true, consumerId, ...(group !== undefined && { group, concurrency }) },
  );
  return {
    pending: loop.subscribed.pending,
    stopTaking() {
      isStopping = true;
      cancelTimer();
      const waiting = [...queue.stop().flatMap(({ entries }) => entries), ...notes.stop()];
      for (const { settle } of waiting) settle(handBack);
      return waiting.length;
    },
    async finished() {
      await queue.idle();
      await loop.stop();
    },
  };
}

function tellsOfTools({ message: { from, kind }, json }: ServedRequest): boolean {
  return (
    from.role === 'orchestrator' &&
    kind === 'event' &&
    isJsonObject(json) &&
    json.event === 'manifest_changed'
  );
}

function keyOf({ message: { from, id } }: ServedRequest): string {
  return `${from.agent} ${id}`;
}

/** Returns the time until a message must be given up, if no turn begins for it, in milliseconds. */
function timeToGiveUp({ request, isOver }: Entry): number {
  return isOver ? Infinity : (request.remainingMs() ?? Infinity) - giveUpBeforeMs;
}

function entryOf(request: ServedRequest, ends: Pick<Entry, 'settle' | 'fail'>): Entry {
  const { message } = request;
  return {
    request,
    thread: turnThreadOf(message),
    bytes: Buffer.byteLength(message.body ?? ''),
    isRunning: false,
    isOver: false,
    ...ends,
  };
}

async function runJob(
  client: BrokerClient,
  { thread, entries }: Job,
  { runTurn, onAnswerRefused, apart, group }: ServedInboxOptions & { apart: Set<string> },
): Promise<void> {
  const wanted = entries.filter(({ isOver }) => !isOver);
  const [first] = wanted;
  if (!first) return;
  for (const entry of wanted) entry.isRunning = true;
  const { message } = first.request;
  const refused = (why: string): void => onAnswerRefused({ id: message.id, from: message.from.agent }, why);
  try {
    const result = await runTurn({
      thread,
      messages: wanted.map(shown),
      seqs: wanted.map(({ request }) => request.message.seq ?? 0),
      isQuestion: isQuestion(message.kind),
      signal: whenUnwanted(wanted.map(({ request }) => request.signal)),
      started: async () => {
        for (const { request } of wanted) {
          request.started({ atOnce: true });
          // The asker is told that somebody works on the question.
          if (isQuestion(request.message.kind)) request.progress({ message: 'a turn has begun' });
        }
        // The broker handles frames in order: once it answers this one, it has handled the one before.
        await client.peek({ limit: 1, bodies: false }).catch(() => {});
      },
      isAnswered: async () => {
        const { id, from } = message;
        const [state] = await client.find([{ agent: from.agent, id, reply: replyIdOf(id) }]);
        return state === 'answered';
      },
    });
    const isBundle = !result.isDone && 'isApart' in result && wanted.length > 1;
    for (const { request, settle, fail } of wanted) {
      if (isBundle) apart.add(keyOf(request));
      if (result.isDone) {
        settle(result.reply === undefined ? undefined : replyOf(result.reply, refused, result.settled));
        if (result.reply === undefined) result.settled?.();
      } else if ('failure' in result) {
        const failure = isBundle ? { ...result.failure, dead: false } : result.failure;
        const ended = beforeDeadline(failure, request.remainingMs(), group !== undefined);
        tellOfAttempt(request, ended);
        settle(ended);
      } else fail(new Error(result.reason));
    }
  } catch (thrown) {
    for (const { fail } of wanted) fail(new Error(messageOf(thrown), { cause: thrown }));
  }
}

/** The failure of a message for which no turn could begin, because the program is failing on every message. */
function unavailable(reason: string, how: { retryMs?: number; dead?: boolean }): ServeFailure {
  return { failed: `program_unavailable: ${reason}`, retryMs: 0, dead: false, ...how, counts: false };
}

/**
 * Has a message with a deadline come again when half of its time is left, if it would else come later. If it would come too late, it is
 * given up: its sender is told why, and not only that it is late. Another member of a group may be quicker.
 */
export function beforeDeadline(
  failure: ServeFailure,
  leftMs: number | undefined,
  isOfGroup: boolean,
): ServeFailure {
  if (leftMs === undefined || failure.retryMs === 0) return failure;
  const retryMs = Math.min(failure.retryMs, Math.max(shortestRetryMs, leftMs / 2));
  return { ...failure, retryMs, dead: failure.dead || (!isOfGroup && retryMs + giveUpBeforeMs >= leftMs) };
}

/** Tells the sender of a question that an attempt has failed. A stranger is told only how its task ends. */
function tellOfAttempt({ message, progress }: ServedRequest, { failed, retryMs, dead }: ServeFailure): void {
  if (dead || retryMs === 0 || !isQuestion(message.kind) || isOutsideId(message.id)) return;
  progress({ message: `its last attempt failed, the next is in ${Math.ceil(retryMs / 1000)} s: ${failed}` });
}

/**
 * Makes the answer to a message. If the broker refuses it, the message becomes a dead letter, and the sender is told: an answer that nobody
 * gets must not seem to have arrived.
 */
function replyOf(body: string, onRefused: (why: string) => void, onSettled?: () => void): ServeAnswer {
  return {
    kind: 'reply',
    body,
    deadIfRefused: true,
    settled: (how, error) => {
      onSettled?.();
      // A message that the agent or the sender has settled already needs no answer.
      if (how === 'refused' && error && error.code !== 'already_answered') onRefused(error.message);
    },
  };
}

/** Returns the message as the mailbox shows it. */
function shown({ request: { message, json, remainingMs } }: Entry): InboxMessage {
  const now = performance.now();
  const leftMs = remainingMs();
  const present = leftMs === undefined ? message : { ...message, remaining_ms: leftMs };
  return inboxMessage(
    checkedOutOf({ seq: message.seq ?? 0, message: present, json: json ?? null, receivedAt: now }, undefined),
    now,
    Date.now(),
  );
}

/** Returns a signal that is aborted when all of these are, or when one of them is by an operator. */
function whenUnwanted(signals: readonly AbortSignal[]): AbortSignal {
  const controller = new AbortController();
  let left = signals.length;
  for (const signal of signals) {
    const aborted = (): void => {
      left--;
      if (left === 0 || isStopped(signal)) controller.abort(signal.reason);
    };
    if (signal.aborted) aborted();
    else signal.addEventListener('abort', aborted, { once: true });
  }
  return controller.signal;
}

/** Tells whether an operator stopped the work that a signal belongs to. */
export function isStopped({ reason }: AbortSignal): boolean {
  return reason instanceof SignalboxError && reason.code === 'stopped_by_operator';
}
