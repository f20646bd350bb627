import { open } from 'node:fs/promises';
import { startTimer } from '@signalbox/client/internal';
import { messageOf } from '@signalbox/protocol';
import { longestTimerMs } from '@signalbox/serving';
import { type AgentPlan, type AgentSetup, planAgent } from '../runner/agent-plan.ts';
import { type AgentProcess, startAgentProcess } from '../runner/agent-process.ts';
import type { ProcessEnd } from '../runner/run-event.ts';
import type { RunFiles } from '../runner/run-files.ts';
import type { TurnAnswer, TurnCommand, TurnOutput, TurnProgram } from './program/turn-program.ts';
import { type KeptTurn, runTalk } from './run-talk.ts';
import { prepareTurnFiles } from './turn-files.ts';
import { keptEndBytes, TurnStream } from './turn-output.ts';
import type { TurnEnd, TurnRunOptions, TurnTask } from './turn-task.ts';

/** The exit code `EX_TEMPFAIL` of sysexits.h: try again later. */
const temporaryFailure = 75;

/**
 * Runs one turn to its end, and leaves no file and no process but one that is kept. Rejects with `SignalboxError` if it can't be started.
 */
export async function runTurn(
  task: TurnTask,
  options: TurnRunOptions,
  keeping: KeptTurn = {},
): Promise<TurnEnd> {
  const { talk } = options.turns;
  if (talk) return await runTalk(task, options, { ...keeping, talk });
  const { files, command } = await prepareTurnFiles(task, options);
  try {
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

async function runProcess(
  { plan, processStarted }: RunFiles,
  command: TurnCommand,
  {
    options,
    onExited,
    onStarted,
    onOutput,
    signal,
  }: TurnTask & { options: TurnRunOptions; onExited: (end: ProcessEnd) => void },
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
    isFinal: false,
    denials: [],
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
    return { problem: `its output is no answer: ${messageOf(thrown)}` };
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
  const { argv, env, files, notes } = plan.injection;
  const [prompt, text] = ['PROMPT', 'TEXT'];
  const turn = { agent, argv, cwd, messages: [], prompt, text, session: undefined, runDirectory };
  const command = turns.command(turn);
  const own = command.files ?? [];
  return {
    ...plan,
    injection: {
      ...plan.injection,
      argv: [...command.argv],
      files: [...files, ...own],
      notes: [...notes, ...(plan.sessionServer ? ['our MCP server is named to it in each session'] : [])],
    },
    variables: { ...plan.variables, ...env, ...command.env },
  };
}
