import { open } from 'node:fs/promises';
import { type StartTimer, startTimer } from '@signalbox/client/internal';
import { messageOf } from '@signalbox/protocol';
import { longestTimerMs } from '@signalbox/serving';
import type { InboxMessage } from '../mailbox/inbox/inbox-message.ts';
import { type AgentPlan, type AgentSetup, messageFileIn, planAgent } from '../runner/agent-plan.ts';
import { type AgentProcess, startAgentProcess } from '../runner/agent-process.ts';
import type { ChildToken } from '../runner/child-token.ts';
import type { CleanupProcess } from '../runner/cleanup/cleanup-process.ts';
import type { OutputTail } from '../runner/output/output-tail.ts';
import { type RunRoot, writePrivateFile } from '../runner/run-directory.ts';
import type { ProcessEnd } from '../runner/run-event.ts';
import { prepareRunFiles, type RunFiles } from '../runner/run-files.ts';
import type { TurnAnswer, TurnCommand, TurnOutput, TurnProgram } from './program/turn-program.ts';
import { keptEndBytes, TurnStream } from './turn-output.ts';
import { turnPrompt, turnText } from './turn-prompt.ts';

/** The exit code `EX_TEMPFAIL` of sysexits.h: try again later. */
const temporaryFailure = 75;

/** The program, the directories and the time limits of an agent's turns. */
export interface TurnRunOptions {
  setup: AgentSetup;
  /** The path of the command line's program. */
  program: string;
  /** The rules by which the program takes turns. */
  turns: TurnProgram;
  /** The group whose messages the agent takes, in place of its own inbox. */
  group?: string | undefined;
  /** Directories to make run directories in, best first. */
  roots: readonly RunRoot[];
  /** See `AgentRunOptions.records`. */
  records: string;
  cleanup: CleanupProcess;
  /** The time between TERM and KILL, in milliseconds. */
  graceMs: number;
  /** The longest time of one turn, in milliseconds. */
  turnTimeoutMs: number;
  /** Starts the timer of the time limit; by default one of Node. */
  startTimer?: StartTimer | undefined;
}

/** One turn to run. */
export interface TurnTask {
  /** The number of the turn among the agent's turns in this process. */
  turn: number;
  messages: readonly InboxMessage[];
  /** Their sequence numbers. */
  seqs: readonly number[];
  session: string | undefined;
  /** Returns a token for the process. */
  issueToken: () => Promise<ChildToken>;
  /** Called before the process is started, because it may have an effect from then on. The process is started when this resolves. */
  onStarting: () => Promise<void>;
  /** Called when the process has been started. */
  onStarted: (process: { pid: number; tail: OutputTail }) => void;
  onOutput: (tail: OutputTail) => void;
  /** Aborting it ends the process and its group. */
  signal: AbortSignal;
}

/** The exit of a turn's process, and its answer. */
export interface TurnEnd {
  code: number | null;
  /** The signal that ended the process, if one did; it may have come from outside. */
  endedBy: NodeJS.Signals | null;
  /** True if the turn took longer than it may. */
  isLate: boolean;
  /** True if the turn failed because its session no longer exists. */
  isSessionLost: boolean;
  /** True if the program said that it can work on no message now. */
  isUnavailable: boolean;
  /** The answer of the program; `undefined` if the turn failed. */
  answer: TurnAnswer | undefined;
  /** The reason that the program told of its failure; `undefined` if it ended with exit code 0 or told nothing that its rules can read. */
  told: string | undefined;
  /** The reason why an output with exit code 0 is no answer. */
  problem: string | undefined;
  tail: OutputTail;
}

/** Runs one turn to its end, and leaves no process and no file. Rejects with `SignalboxError` if it can't be started. */
export async function runTurn(task: TurnTask, options: TurnRunOptions): Promise<TurnEnd> {
  const { setup, roots, records, cleanup } = options;
  const name = `${setup.agent}#turn-${task.turn}`;
  const files = await prepareRunFiles(
    { ...setup, turn: { seqs: task.seqs, group: options.group, thread: sameThread(task.messages) } },
    { roots, records, cleanup, name },
  );
  try {
    const command = await writeTurnFiles(files, task, options);
    const token = await task.issueToken();
    let exit: ProcessEnd | undefined;
    const onExited = (end: ProcessEnd): void => {
      exit = end;
    };
    try {
      task.signal.throwIfAborted();
      await files.writeToken(token.text);
      await task.onStarting();
      task.signal.throwIfAborted();
      return await runProcess(files, command, { ...task, options, onExited });
    } finally {
      await token.retire(exit);
    }
  } finally {
    await files.remove();
  }
}

function sameThread(messages: readonly InboxMessage[]): string | undefined {
  const [thread, ...others] = new Set(messages.map((message) => message.thread));
  return others.length === 0 ? thread : undefined;
}

/** Gets the command from the program's rules, and writes the files that it needs. */
async function writeTurnFiles(
  { plan, directory }: RunFiles,
  { messages, session }: TurnTask,
  { setup, turns }: TurnRunOptions,
): Promise<TurnCommand> {
  const { agent, cwd } = setup;
  await writePrivateFile(messageFileIn(directory), `${JSON.stringify({ agent, messages }, undefined, 2)}\n`);
  const command = turns.command({
    agent,
    argv: plan.injection.argv,
    cwd,
    messages,
    prompt: turnPrompt(agent, messages),
    text: turnText(messages),
    session,
    runDirectory: directory,
  });
  for (const { path, text } of command.files ?? []) await writePrivateFile(path, text);
  return command;
}

type RunningTurn = TurnTask & {
  options: TurnRunOptions;
  onExited: (end: ProcessEnd) => void;
};

async function runProcess(
  { plan, processStarted }: RunFiles,
  command: TurnCommand,
  { options, onExited, onStarted, onOutput, signal }: RunningTurn,
): Promise<TurnEnd> {
  const { setup, program, turns, graceMs, turnTimeoutMs, startTimer: start = startTimer } = options;
  const [stdout, stderr] = [new TurnStream(), new TurnStream()];
  let child: AgentProcess | undefined;
  child = await startAgentProcess({
    program,
    argv: command.argv,
    cwd: setup.cwd,
    env: { ...setup.env, ...plan.variables, ...command.env },
    stdin: { text: command.stdin },
    output: { stdout, stderr },
    onOutput: () => child && onOutput(child.tail),
    graceMs,
  });
  const { own, tail, exited } = child;
  processStarted(own);
  onStarted({ pid: own.pid, tail });
  const stop = child.stop;
  let isLate = false;
  const cancelTimer = start(
    () => {
      isLate = true;
      stop();
    },
    Math.min(turnTimeoutMs, longestTimerMs),
  );
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const ended = await exited;
  const isStopped = signal.aborted;
  cancelTimer();
  signal.removeEventListener('abort', stop);
  onExited(ended);
  await child.cleanUp();
  const { text, cutBytes } = stdout.text();
  const output: TurnOutput = {
    code: ended.code,
    stdout: text,
    stdoutHead: stdout.head(),
    cutBytes,
    stderr: stderr.text().text,
    file: await readBounded(command.answerFile),
  };
  // A program that is ended may exit with 0: then its output is only a part of the answer.
  const isWhole = ended.code === 0 && !isLate && !isStopped;
  const read = isWhole ? answerOf(turns, output) : undefined;
  return {
    code: ended.code,
    endedBy: ended.signal,
    isLate,
    isSessionLost: ended.code !== 0 && turns.isSessionLost?.(output) === true,
    isUnavailable: ended.code === temporaryFailure || (!read?.answer && isUnavailable(turns, output)),
    answer: read?.answer,
    told: ended.code === 0 ? undefined : turns.failure?.(output),
    problem: read?.problem,
    tail,
  };
}

function answerOf(turns: TurnProgram, output: TurnOutput): { answer?: TurnAnswer; problem?: string } {
  try {
    return { answer: turns.answer(output) };
  } catch (thrown) {
    return { problem: messageOf(thrown) };
  }
}

function isUnavailable(turns: TurnProgram, output: TurnOutput): boolean {
  try {
    return turns.isUnavailable?.(output) === true;
  } catch {
    // It did not print what it prints when its model refuses a request.
    return false;
  }
}

/** Reads the beginning of a file, as much of it as an answer may have. */
async function readBounded(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    await using file = await open(path);
    const buffer = Buffer.alloc(keptEndBytes);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } catch {
    return undefined;
  }
}

/**
 * Plans a turn for a sample message, without side effects. Throws `SignalboxError` `usage` for a command line that can't take turns.
 */
export function planTurn(
  setup: AgentSetup,
  { turns, group }: { turns: TurnProgram; group?: string | undefined },
  runDirectory: string,
): AgentPlan {
  const plan = planAgent({ ...setup, turn: { seqs: [0], group } }, runDirectory);
  const { agent, cwd } = setup;
  const { argv, env, files } = plan.injection;
  const [prompt, text] = ['PROMPT', 'TEXT'];
  const turn = { agent, argv, cwd, messages: [], prompt, text, session: undefined, runDirectory };
  const command = turns.command(turn);
  const own = command.files ?? [];
  return {
    ...plan,
    injection: { ...plan.injection, argv: [...command.argv], files: [...files, ...own] },
    variables: { ...plan.variables, ...env, ...command.env },
  };
}
