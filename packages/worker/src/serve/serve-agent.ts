import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type BrokerClient, connectBroker, groupAddress, type ServeFailure } from '@signalbox/client';
import { awaitFreeInbox, startTimer as nodeTimer, type StartTimer } from '@signalbox/client/internal';
import { frameLimits, messageOf, SignalboxError } from '@signalbox/protocol';
import { within } from '@signalbox/serving';
import type { Tracing } from '@signalbox/serving/tracing';
import type { AgentSetup } from '../runner/agent-plan.ts';
import type { ChildToken, IssueToken } from '../runner/child-token.ts';
import type { KeptProcesses } from './kept-processes.ts';
import { type CircuitMessage, ProgramCircuit } from './program-circuit.ts';
import type { KeptTurn } from './run-talk.ts';
import type { ServeEvent, ServeWarning, TurnOutcome } from './serve-event.ts';
import { ServeStatus } from './serve-status.ts';
import {
  isStopped,
  openServedInbox,
  type ServedInbox,
  type ServedTurn,
  type TurnResult,
} from './served-inbox.ts';
import type { TalkedProcess } from './talked-process.ts';
import type { ThreadMemory, ThreadSessions } from './thread-sessions.ts';
import { endText } from './turn-reason.ts';
import type { TurnEnd, TurnTask } from './turn-task.ts';

/** Runs one turn to its end. Rejects with `SignalboxError` if it can't be started. */
export type RunTurn = (task: TurnTask, keeping: KeptTurn) => Promise<TurnEnd>;

/** The options with which one agent is served. */
export interface ServeAgentOptions {
  setup: Pick<AgentSetup, 'agent' | 'url' | 'insecure' | 'authorities'>;
  /** The name under which `ps` shows what takes the turns. */
  command: string;
  run: RunTurn;
  /** Why the sessions of threads are not continued. */
  forgets?: string | undefined;
  /** The group whose messages the agent takes, in place of its own inbox. */
  group?: string | undefined;
  issueToken: IssueToken;
  /** True: each message begins a turn of its own, and at once. */
  takesAlone?: boolean;
  /** The longest time for which turns may go on at the end, in milliseconds. */
  graceMs: number;
  /** The longest time of one turn, in milliseconds, as reasons name it. */
  turnTimeoutMs: number;
  /** Keeps the processes of programs that are talked with, for further turns of their threads. Without it each takes one turn. */
  kept?: KeptProcesses | undefined;
  /** The most turns at a time. */
  concurrency: number;
  /** Remembers the sessions of the agent's threads, and the reasons of denials. */
  sessions: ThreadSessions;
  /** False: each turn begins a new session. */
  keepsSessions?: boolean;
  /** Stores the end of the newest turn's output, at most 64 KiB. */
  keepOutput?: (text: string) => Promise<void>;
  /** The longest time that a note waits for others before it starts a turn, in milliseconds; default 60 s. */
  noteWaitMs?: number;
  /** The wait before the message of a failed turn comes again, in milliseconds; default 30 s. It doubles with each try, up to ten minutes. */
  retryWaitMs?: number;
  /** Starts the timers of notes and turns; by default those of Node. */
  startTimer?: StartTimer;
  /** True: the inbox is taken from another process that reads it; by default that is refused with `inbox_in_use` after a while. */
  takesOver?: boolean;
  /** Makes spans of the messages that start turns, and of replies. */
  tracing?: Tracing | undefined;
  /** Returns a random number for the waits before retries: 0 ≤ value < 1. */
  random?: () => number;
  onEvent: (event: ServeEvent) => void;
  /** Called when the inbox is held, with a way to ask about messages of it. */
  onServing?: ((find: BrokerClient['find']) => Promise<void>) | undefined;
}

/** An agent whose program is started when mail arrives. */
export interface ServedAgent {
  /**
   * Resolves when the agent was stopped and no process is left. Rejects with `SignalboxError` if it can't be served, or can no longer be:
   * `inbox_in_use` if another process reads its inbox, `taken_over` if another one took it later.
   */
  readonly ended: Promise<void>;
  /** Begins no further turn. Running turns may end within the grace; after it they are ended, and their messages are delivered again. */
  stop(): void;
  /** Ends the running turns at once. */
  kill(): void;
}

const defaultNoteWaitMs = 60_000;
const defaultRetryWaitMs = 30_000;
/**
 * The largest difference between the broker's clock and ours, in milliseconds: a token that the broker refuses within this time before its
 * expiry has expired there.
 */
const clockDifferenceMs = 60_000;
/** The wait before a token is requested again while the broker is away, in milliseconds. */
const tokenRetryMs = 1000;

/** Serves one agent until it is stopped. Only this process holds its inbox: the faces of its turns never do. */
export function serveAgent(options: ServeAgentOptions): ServedAgent {
  const stopping = new AbortController();
  const killing = new AbortController();
  return {
    ended: serve(options, stopping.signal, killing),
    stop: () => stopping.abort(),
    kill: () => {
      killing.abort();
      stopping.abort();
    },
  };
}

async function serve(
  options: ServeAgentOptions,
  stopping: AbortSignal,
  killing: AbortController,
): Promise<void> {
  const { setup, command, onEvent, graceMs, concurrency, group, startTimer = nodeTimer } = options;
  const { agent, url, insecure, authorities } = setup;
  await using token = await openLastingToken(options);
  if (stopping.aborted) return;
  await using client = await connectBroker({
    url,
    insecure,
    ...(authorities && { ca: authorities.pem }),
    agent: group === undefined ? agent : groupAddress(agent),
    token: token.text,
    renewToken: token.renew,
    ...(options.random && { random: options.random }),
    tracing: options.tracing,
  });
  if (group === undefined && !options.takesOver) {
    const onWait = (message: string): void =>
      onEvent({ event: 'warning', agent, code: 'inbox_in_use', message });
    await awaitFreeInbox(client, { signal: stopping, onWait }).catch((thrown) => {
      if (!stopping.aborted) throw thrown;
    });
    if (stopping.aborted) return;
  }
  const status = new ServeStatus(client, command);
  const circuit = new ProgramCircuit({
    retryWaitMs: options.retryWaitMs ?? defaultRetryWaitMs,
    now: () => performance.now(),
    random: options.random ?? Math.random,
  });
  const { kept } = options;
  let turns = 0;
  const running = { turns: 0 };
  const followed = new Set<string>();
  const inbox = await openServedInbox(client, {
    concurrency,
    group,
    takesAlone: group !== undefined || options.takesAlone === true,
    noteWaitMs: options.noteWaitMs ?? defaultNoteWaitMs,
    startTimer,
    circuit,
    consumerId: randomBytes(12).toString('base64url'),
    onChange: (counts) => status.counts(counts),
    onToolsChanged: () => kept?.rightsChanged(agent),
    onAnswerRefused: ({ id, from }, why) => {
      const message = `the answer to ${id} of ${from} was refused, and the message is a dead letter: ${why}`;
      onEvent({ event: 'warning', agent, code: 'answer_refused', message });
    },
    runTurn: (turn) =>
      takeTurn(turn, {
        ...options,
        turn: ++turns,
        client,
        status,
        circuit,
        killing: killing.signal,
        running,
        followed,
      }),
  });
  if (kept) client.onRights((whose) => kept.rightsChanged(agent, whose));
  kept?.onChange(agent, (processes) => status.kept(processes));
  // What fails now is tried again at the next start.
  options.onServing?.((requests) => client.find(requests)).catch(() => {});
  onEvent({ event: 'serving', agent, role: client.role, pending: inbox.pending, command });
  const lost = await Promise.race([client.closed.then((reason) => ({ reason })), aborted(stopping)]);
  const unkept = kept?.close(agent);
  if (lost) {
    inbox.stopTaking();
    await inbox.finished();
    await unkept;
    throw lost.reason ?? new SignalboxError('closed', 'the connection to the broker has ended');
  }
  const givenBack = inbox.stopTaking();
  await finishWithin(inbox, graceMs, killing);
  await unkept;
  onEvent({ event: 'stopped', agent, givenBack });
}

/** Lets running turns end within the grace, and ends the rest after it. */
async function finishWithin(inbox: ServedInbox, graceMs: number, killing: AbortController): Promise<void> {
  const finished = inbox.finished();
  await within(finished, graceMs, killing.signal);
  killing.abort();
  await finished;
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}

interface TurnContext extends ServeAgentOptions {
  turn: number;
  client: BrokerClient;
  status: ServeStatus;
  circuit: ProgramCircuit;
  killing: AbortSignal;
  /** The number of turns that run. */
  running: { turns: number };
  /** The senders whose rights are followed, the newest last. */
  followed: Set<string>;
}

/** Takes a turn, a second time without its session if that no longer exists, and decides about the messages. */
async function takeTurn(turn: ServedTurn, context: TurnContext): Promise<TurnResult> {
  const { setup, onEvent } = context;
  const { agent } = setup;
  const [first] = turn.messages;
  if (turn.isQuestion && first && (await turn.isAnswered())) {
    onEvent({ event: 'already_answered', agent, id: first.id, from: first.from });
    return { isDone: true };
  }
  const startedAt = performance.now();
  const signal = AbortSignal.any([turn.signal, context.killing]);
  const began = { end: undefined as TurnEnd | undefined, problem: undefined as string | undefined };
  context.running.turns++;
  try {
    began.end = await runWithSession(turn, signal, context);
  } catch (thrown) {
    began.problem = messageOf(thrown);
  }
  context.running.turns--;
  context.status.turnEnded(context.turn);
  const { outcome, reason, result } = await resultOf(turn, began, context);
  const output = began.end?.tail.text() ?? '';
  await context.keepOutput?.(output).catch((thrown) => {
    const message = `the output of turn ${context.turn} could not be kept: ${messageOf(thrown)}`;
    onEvent({ event: 'warning', agent, code: 'output_not_kept', message });
  });
  onEvent({
    event: 'turn_ended',
    agent,
    turn: context.turn,
    outcome,
    code: began.end?.code ?? null,
    tookMs: Math.round(performance.now() - startedAt),
    ...(reason !== undefined && { reason }),
    output,
  });
  return result;
}

const nothing: ThreadMemory = { session: undefined, denials: [] };

/** Runs the program with the session of the thread, if there is one, and remembers the session that it names. */
async function runWithSession(turn: ServedTurn, signal: AbortSignal, context: TurnContext): Promise<TurnEnd> {
  const { sessions, keepsSessions = true, forgets, onEvent, setup } = context;
  const { agent } = setup;
  const { thread } = turn;
  const memory = (thread === undefined ? undefined : sessions.get(thread)) ?? nothing;
  const remembered = keepsSessions ? memory.session : undefined;
  const process = await keptProcess(turn, context);
  if (remembered !== undefined && forgets !== undefined && !process) {
    const message = `turn ${context.turn} begins a new session for thread ${thread}, because ${forgets}`;
    onEvent({ event: 'warning', agent, code: 'session_not_kept', message });
  }
  const known = forgets === undefined ? remembered : undefined;
  let end = await runProgram(turn, { session: known, process }, signal, context);
  if (known !== undefined && end.isSessionLost && !signal.aborted) {
    const message = `the session of thread ${thread} is gone: its next turn begins a new one`;
    onEvent({ event: 'warning', agent, code: 'session_lost', message });
    end = await runProgram(turn, {}, signal, context);
  }
  const { session = end.session, asksNobody } = end.answer ?? {};
  if (asksNobody !== undefined) {
    const message = `turn ${context.turn} ran in ${asksNobody}, in which it asks nobody before it uses tools of its own: find out which of its settings sets that mode`;
    onEvent({ event: 'warning', agent, code: 'asks_nobody', message });
  }
  const isTold = (keepsSessions && session !== undefined) || end.denials.length + memory.denials.length > 0;
  if (thread !== undefined && isTold) {
    const next = (keepsSessions ? session : undefined) ?? memory.session;
    await sessions.set(thread, { session: next, denials: end.denials }).catch((thrown) => {
      const message = `thread ${thread} is not remembered: ${messageOf(thrown)}`;
      onEvent({ event: 'warning', agent, code: 'session_not_kept', message });
    });
  }
  return end;
}

/** Takes the process that is kept for the thread of a turn, and ends others that there is no room for any more. */
async function keptProcess(
  { thread, messages }: ServedTurn,
  { client, kept, followed, setup: { agent }, concurrency, running }: TurnContext,
): Promise<TalkedProcess | undefined> {
  if (!kept) return undefined;
  const process = thread === undefined ? undefined : await kept.take({ agent, thread });
  await kept.leave(agent, concurrency - running.turns);
  followSenders(messages, { client, followed });
  return process;
}

/** Follows the rights of the newest senders, so that a kept process ends when those of its senders change. */
function followSenders(
  messages: ServedTurn['messages'],
  { client, followed }: Pick<TurnContext, 'client' | 'followed'>,
): void {
  const senders = messages.map(({ from }) => from);
  const isKnown = senders.every((sender) => followed.has(sender));
  for (const sender of senders) {
    followed.delete(sender);
    followed.add(sender);
  }
  for (const oldest of followed) {
    if (followed.size <= frameLimits.followedAgents) break;
    followed.delete(oldest);
  }
  if (!isKnown) client.followRights([...followed]);
}

async function runProgram(
  turn: ServedTurn,
  { session, process }: { session?: string | undefined; process?: TalkedProcess | undefined },
  signal: AbortSignal,
  context: TurnContext,
): Promise<TurnEnd> {
  const { setup, onEvent, status } = context;
  const { agent } = setup;
  return await context.run(
    {
      turn: context.turn,
      messages: turn.messages,
      thread: turn.thread,
      seqs: turn.seqs,
      session,
      isQuestion: turn.isQuestion,
      denials: turn.thread === undefined ? [] : context.sessions.get(turn.thread).denials,
      issueToken: () => tokenWhenPossible(context, signal),
      onStarting: () => turn.started(),
      onStarted: ({ pid, isKept }) => {
        const messages = turn.messages.map(({ id, from, kind, attempt }) => ({ id, from, kind, attempt }));
        status.turnStarted(context.turn, messages, turn.thread);
        onEvent({
          event: 'turn_started',
          agent,
          turn: context.turn,
          ...(pid !== undefined && { pid }),
          messages,
          resumed: session !== undefined || isKept === true,
          ...(isKept && { kept: true }),
        });
      },
      onKeptEnded: ({ pid = 0, why: reason }) => onEvent({ event: 'kept_ended', agent, pid, reason }),
      onOutput: (tail) => status.output(tail),
      onWarning: (code, message) =>
        onEvent({ event: 'warning', agent, code, message: `turn ${context.turn}: ${message}` }),
      onAsking: (change) => status.asking(change),
      onToolsUsed: (calls) => status.toolsUsed(context.turn, calls),
      signal,
    },
    { kept: context.kept, process },
  );
}

/** Decides how a turn ended, and about its messages. An answer that the agent sent by a tool comes before everything else. */
async function resultOf(
  turn: ServedTurn,
  { end, problem }: { end: TurnEnd | undefined; problem: string | undefined },
  context: TurnContext,
): Promise<{ outcome: TurnOutcome; reason?: string; result: TurnResult }> {
  const { killing, turnTimeoutMs } = context;
  const isAnswered = turn.isQuestion && end !== undefined && (await turn.isAnswered().catch(() => false));
  if (isAnswered || end?.answer) {
    noteSuccess(turn, context);
    if (isAnswered) return { outcome: 'answered_by_tool', result: { isDone: true } };
    const settled = end?.onSettled;
    if (!turn.isQuestion) return { outcome: 'done', result: { isDone: true, ...(settled && { settled }) } };
    const reply = end?.answer?.text ?? '';
    return { outcome: 'answered', result: { isDone: true, reply, ...(settled && { settled }) } };
  }
  const again = (outcome: TurnOutcome, reason: string) => ({
    outcome,
    reason,
    result: { isDone: false, reason } as const,
  });
  if (turn.signal.aborted) {
    const reason = messageOf(turn.signal.reason);
    if (!isStopped(turn.signal)) return again('withdrawn', reason);
    // The broker has made a dead letter of the message that the operator named. The others of the turn follow it.
    const failure = { failed: reason, retryMs: 0, counts: true, dead: true };
    return { outcome: 'stopped_by_operator', reason, result: { isDone: false, failure } };
  }
  if (end?.leaves !== undefined) {
    const failure = { failed: end.leaves, retryMs: 0, counts: false, dead: false };
    return { outcome: 'stopped', reason: end.leaves, result: { isDone: false, failure } };
  }
  if (killing.aborted)
    return again('stopped', 'its program was ended, because signalbox worker serve was stopped');
  const reason = problem ?? (end ? endText(end, turnTimeoutMs) : 'it was not started');
  if (end?.isFinal) {
    // The program works: somebody, or its model, decided against this.
    noteSuccess(turn, context);
    const failure = { failed: reason, retryMs: 0, counts: true, dead: true };
    return { outcome: 'denied', reason, result: { isDone: false, failure, isApart: true } };
  }
  const outcome = end?.isLate ? 'timed_out' : 'failed';
  return { outcome, reason, result: { isDone: false, failure: noteFailure(turn, end, reason, context) } };
}

function noteSuccess(turn: ServedTurn, { circuit, status, onEvent, setup }: TurnContext): void {
  const wasFailing = circuit.failing !== undefined;
  circuit.succeeded(circuitMessageOf(turn));
  if (!wasFailing) return;
  status.failing(undefined);
  onEvent({ event: 'program_works', agent: setup.agent });
}

/** Tells the circuit of a failed turn, and people when the program begins to fail on every message. */
function noteFailure(
  turn: ServedTurn,
  end: TurnEnd | undefined,
  reason: string,
  { circuit, status, onEvent, setup }: TurnContext,
): ServeFailure {
  const wasFailing = circuit.failing !== undefined;
  const { retryMs, counts, isGivenUp } = circuit.failed({
    message: circuitMessageOf(turn),
    attempt: turn.messages[0]?.attempt ?? 1,
    reason,
    isUnavailable: end?.isUnavailable === true,
  });
  if (circuit.failing !== undefined) {
    status.failing(reason);
    if (!wasFailing) onEvent({ event: 'program_failing', agent: setup.agent, reason, nextTryMs: retryMs });
  }
  const failed = isGivenUp ? `program_unavailable: ${reason}` : reason;
  return { failed, retryMs, counts, dead: isGivenUp };
}

function circuitMessageOf({ messages }: ServedTurn): CircuitMessage {
  const { id = '', from = '' } = messages[0] ?? {};
  return { key: `${from} ${id}`, sender: from };
}

/** Issues a token for a turn; waits for the broker while it is unreachable. */
async function tokenWhenPossible(
  { issueToken, setup, onEvent }: ServeAgentOptions,
  signal: AbortSignal,
): Promise<ChildToken> {
  for (let tries = 0; ; tries++) {
    signal.throwIfAborted();
    try {
      return await issueToken(setup.agent);
    } catch (error) {
      if (!(error instanceof SignalboxError) || !error.retryable) throw error;
      const code: ServeWarning = 'no_token_yet';
      const message = `waiting for the broker, to start a turn: ${error.message}`;
      if (tries === 0) onEvent({ event: 'warning', agent: setup.agent, code, message });
    }
    await delay(tokenRetryMs, undefined, { signal });
  }
}

/** The token with which this process holds an inbox. A new token replaces it when it has expired. */
interface LastingToken extends AsyncDisposable {
  readonly text: string;
  renew(): Promise<string | undefined>;
}

async function openLastingToken({ issueToken, setup }: ServeAgentOptions): Promise<LastingToken> {
  let token = await issueToken(setup.agent);
  return {
    text: token.text,
    async renew() {
      if (token.renew) return await token.renew();
      // A token that was revoked before its expiry is not replaced: somebody wants this agent to stop.
      if (token.expiresAt === undefined || token.expiresAt > Date.now() + clockDifferenceMs) return undefined;
      token = await issueToken(setup.agent);
      return token.text;
    },
    [Symbol.asyncDispose]: async () => void (await token.retire(undefined)),
  };
}
