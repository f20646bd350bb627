import { startTimer } from '@signalbox/client/internal';
import { messageOf } from '@signalbox/protocol';
import { late, within } from '@signalbox/serving';
import type { AgentProcess } from '../runner/agent-process.ts';
import { startAgentProcess } from '../runner/agent-process.ts';
import type { RunFiles } from '../runner/run-files.ts';
import type { AskPerson, TalkEnd, TurnCommand, TurnProgram } from './program/turn-program.ts';
import { bytesTo, talkOutput } from './talk-streams.ts';
import { TurnClock } from './turn-clock.ts';
import { TurnStream } from './turn-output.ts';
import { turnPrompt } from './turn-prompt.ts';
import { turnQuestions } from './turn-questions.ts';
import type { RunningTurn, TurnEnd } from './turn-task.ts';

/** The time in which a program ends by itself after its talk, and the time between TERM and KILL then, in milliseconds. */
const farewellMs = 2_000;
/** The longest time for which a turn stands still while people are asked, unless the configuration says otherwise, in milliseconds. */
const defaultMostAskingMs = 3_600_000;

/** Runs a turn of a program that is talked with, and leaves no process. */
export async function runTalk(
  { plan, processStarted }: RunFiles,
  command: TurnCommand,
  turn: RunningTurn & { talk: NonNullable<TurnProgram['talk']>; token: string },
): Promise<TurnEnd> {
  const { options, signal, session, messages, denials } = turn;
  const { setup, program, graceMs, turnTimeoutMs, startTimer: start = startTimer } = options;
  const output = talkOutput();
  // Watched from before the start, because an agent may list the tools at once.
  const listed = Promise.withResolvers<void>();
  const unwatch = options.face?.onSession(setup.agent, (event) => {
    const isOwn = event.token === turn.token && event.turn?.seqs.join() === turn.seqs.join();
    if (event.event === 'listed' && isOwn) listed.resolve();
  });
  let child: AgentProcess | undefined;
  child = await startAgentProcess({
    program,
    argv: command.argv,
    cwd: setup.cwd,
    env: { ...setup.env, ...plan.variables, ...command.env },
    stdin: 'open',
    output: { stdout: output.writer, stderr: new TurnStream() },
    onOutput: () => child && turn.onOutput(child.tail),
    graceMs: Math.min(graceMs, farewellMs),
  });
  const { tail, exited } = child;
  processStarted(child.own);
  turn.onStarted({ pid: child.own.pid, tail });
  let isLate = false;
  const ending = new AbortController();
  using clock = new TurnClock({
    limitMs: turnTimeoutMs,
    mostHeldMs: options.mostAskingMs ?? defaultMostAskingMs,
    startTimer: start,
    now: () => performance.now(),
    onLate: () => {
      isLate = true;
      ending.abort();
    },
  });
  await using questions = turnQuestions({
    ...setup,
    ...options,
    token: turn.token,
    messages,
    thread: turn.thread,
  });
  const ask: AskPerson = async (question, how) => {
    const goOn = clock.hold();
    turn.onAsking?.(1);
    try {
      return await questions.ask(question, how);
    } finally {
      turn.onAsking?.(-1);
      goOn();
    }
  };
  const talking = turn.talk({
    input: bytesTo(child.input!),
    output: output.stream,
    cwd: setup.cwd,
    prompt: turnPrompt(setup.agent, messages, denials),
    isQuestion: turn.isQuestion,
    session,
    server: plan.sessionServer,
    toolsListed: options.face && setup.inject ? listed.promise : undefined,
    ask,
    toolsUsed: (calls) => turn.onToolsUsed?.(calls),
    noteAllowed: ({ cli, tool }) =>
      questions.note({ cli, tool }).catch((thrown) => {
        const message = `the audit log has no entry that ${cli}:${tool} was allowed: ${messageOf(thrown)}`;
        if (!signal.aborted && !ending.signal.aborted) turn.onWarning('not_audited', message);
      }),
    print: (text) => {
      tail.add(Buffer.from(text));
      turn.onOutput(tail);
    },
    warn: turn.onWarning,
    signal: AbortSignal.any([signal, ending.signal]),
  });
  const early = await Promise.race([talking, exited.then(() => undefined)]);
  const isStopped = signal.aborted;
  let isGone = true;
  if (early) {
    child.input?.end();
    isGone = (await within(exited, farewellMs, signal)) !== late;
    child.stop();
  }
  const ended = await exited;
  turn.onExited(ended);
  await child.cleanUp();
  unwatch?.();
  // A program that ends by itself ends the talk: its answer may be among its last words.
  const end = early ?? (await talking);
  return {
    code: ended.code,
    endedBy: ended.signal,
    isLate,
    isSessionLost: false,
    ...outcome(isLate || isStopped ? { failed: '' } : end, isGone),
    tail,
  };
}

type Outcome = Pick<
  TurnEnd,
  'answer' | 'told' | 'problem' | 'isFinal' | 'session' | 'isUnavailable' | 'denials'
>;

function outcome(end: TalkEnd, isGone: boolean): Outcome {
  const { answer, failed, isFinal, isUnavailable, isCutOff, denials } = end;
  // Of a program that ended in the middle, its exit tells more than the lost connection does.
  const isTold = failed !== undefined && !(isGone && isCutOff);
  return {
    answer,
    told: isTold ? failed : undefined,
    problem: isTold ? (isFinal ? 'it was ended' : 'its agent failed') : undefined,
    isFinal: isFinal === true,
    session: end.session,
    isUnavailable: isUnavailable === true,
    denials: denials ?? [],
  };
}
