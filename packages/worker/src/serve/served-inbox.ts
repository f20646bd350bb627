import { type BrokerClient, handBack, type ServeAnswer, type ServedRequest } from '@signalbox/client';
import type { StartTimer } from '@signalbox/client/internal';
import { messageOf, replyIdOf } from '@signalbox/protocol';
import { heldOf, isQuestion } from '../mailbox/inbox/held-messages.ts';
import { type InboxMessage, inboxMessage } from '../mailbox/inbox/inbox-message.ts';
import { NoteBundles } from './note-bundles.ts';
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
  /** Aborted when nobody wants the turn any more: its messages were withdrawn or expired, or the inbox is lost. */
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
 * again.
 */
export type TurnResult = { isDone: true; reply?: string } | { isDone: false; reason: string };

export interface ServedInboxOptions {
  /** The most turns at a time. */
  concurrency: number;
  /** The group whose messages are taken, in place of the client's own inbox. The client has an address of `groupAddress` then. */
  group?: string | undefined;
  /** The longest time that a note waits for others, in milliseconds. In a group no note waits: another member may be free. */
  noteWaitMs: number;
  startTimer: StartTimer;
  /** Names this process to the broker. */
  consumerId: string;
  /** Runs a turn to its end. A rejection gives its messages back. */
  runTurn: (turn: ServedTurn) => Promise<TurnResult>;
  /** Called when the broker refused the answer to a message, which is a dead letter now. */
  onAnswerRefused: (message: { id: string; from: string }, why: string) => void;
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
  settle: (answer: ServeAnswer) => void;
  fail: (reason: Error) => void;
}

interface Job {
  readonly thread: string | undefined;
  readonly entries: readonly Entry[];
}

/** Takes the agent's inbox, or messages of a group, of all kinds. Rejects as `BrokerClient.serve`. */
export async function openServedInbox(
  client: BrokerClient,
  options: ServedInboxOptions,
): Promise<ServedInbox> {
  const { concurrency, group, noteWaitMs, startTimer, consumerId } = options;
  let isStopping = false;
  const queue = new TurnQueue<Job>(concurrency, (job) => runJob(client, job, options), changed);
  const notes = new NoteBundles<Entry>({ waitMs: noteWaitMs, startTimer, onReady: enqueue });
  function changed(): void {
    options.onChange({ waiting: queue.waitingCount + notes.count, running: queue.running.length });
  }
  function enqueue(entries: readonly Entry[]): void {
    const [first] = entries;
    if (first) queue.add({ thread: first.thread, entries });
  }
  const loop = await client.serve(
    ['*'],
    async (request) => {
      // An ephemeral message is for connected programs, and starts none.
      if (request.message.seq === undefined) return undefined;
      if (isStopping) return handBack;
      const { promise, resolve, reject } = Promise.withResolvers<ServeAnswer>();
      const entry = entryOf(request, { settle: resolve, fail: reject });
      request.signal.addEventListener('abort', () => {
        if (entry.isRunning) return;
        if (notes.remove(entry)) changed();
        reject(request.signal.reason);
      });
      if (group !== undefined || isQuestion(request.message.kind)) enqueue([entry]);
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

function entryOf(request: ServedRequest, ends: Pick<Entry, 'settle' | 'fail'>): Entry {
  const { message } = request;
  return {
    request,
    thread: turnThreadOf(message),
    bytes: Buffer.byteLength(message.body ?? ''),
    isRunning: false,
    ...ends,
  };
}

async function runJob(
  client: BrokerClient,
  { thread, entries }: Job,
  { runTurn, onAnswerRefused }: ServedInboxOptions,
): Promise<void> {
  const wanted = entries.filter(({ request }) => !request.signal.aborted);
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
      signal: whenAllAborted(wanted.map(({ request }) => request.signal)),
      started: async () => {
        for (const { request } of wanted) request.started();
        // The broker handles frames in order: once it answers this one, it has handled the one before.
        await client.peek({ limit: 1, bodies: false }).catch(() => {});
      },
      isAnswered: async () => {
        const { id, from } = message;
        const [state] = await client.find([{ agent: from.agent, id, reply: replyIdOf(id) }]);
        return state === 'answered';
      },
    });
    for (const { settle, fail } of wanted) {
      if (!result.isDone) fail(new Error(result.reason));
      else settle(result.reply === undefined ? undefined : replyOf(result.reply, refused));
    }
  } catch (thrown) {
    for (const { fail } of wanted) fail(new Error(messageOf(thrown), { cause: thrown }));
  }
}

/**
 * Makes the answer to a message. If the broker refuses it, the message becomes a dead letter, and the sender is told: an answer that nobody
 * gets must not seem to have arrived.
 */
function replyOf(body: string, onRefused: (why: string) => void): ServeAnswer {
  return {
    kind: 'reply',
    body,
    deadIfRefused: true,
    settled: (how, error) => {
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
    heldOf({ seq: message.seq ?? 0, message: present, json: json ?? null, receivedAt: now }, undefined),
    now,
    Date.now(),
  );
}

/** Returns a signal that is aborted when all of these are. */
function whenAllAborted(signals: readonly AbortSignal[]): AbortSignal {
  const controller = new AbortController();
  let left = signals.length;
  for (const signal of signals) {
    const aborted = (): void => {
      left--;
      if (left === 0) controller.abort(signal.reason);
    };
    if (signal.aborted) aborted();
    else signal.addEventListener('abort', aborted, { once: true });
  }
  return controller.signal;
}
