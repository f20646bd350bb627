import { startTimer } from '@signalbox/client/internal';
import { messageOf } from '@signalbox/protocol';
import { late, within } from '@signalbox/serving';
import { type AgentProcess, startAgentProcess } from '../runner/agent-process.ts';
import type { ProcessEnd } from '../runner/run-event.ts';
import type { FaceSeat } from '../shared-face/shared-face.ts';
import type { AskPerson, TalkEnd, Talker, TurnProgram } from './program/turn-program.ts';
import { bytesTo, talkOutput } from './talk-streams.ts';
import { TurnClock } from './turn-clock.ts';
import { prepareTurnFiles, type TurnFiles, turnOf, writeMessages } from './turn-files.ts';
import { TurnStream } from './turn-output.ts';
import { turnPrompt } from './turn-prompt.ts';
import { turnQuestions } from './turn-questions.ts';
import type { TurnEnd, TurnRunOptions, TurnTask } from './turn-task.ts';

/** The time in which a program ends by itself after its talk, and the time between TERM and KILL then, in milliseconds. */
const farewellMs = 2_000;
/** The longest time for which a turn stands still while people are asked, unless the configuration says otherwise, in milliseconds. */
const defaultMostAskingMs = 3_600_000;
/** The longest wait until the shims of a kept process are served in its next turn, in milliseconds. */
const shimsWaitMs = 5_000;

/** A process that runs, and the talk with it. */
interface Running {
  readonly child: AgentProcess;
  readonly talker: Talker;
  /** Resolves when a client has listed our tools in the first turn. */
  readonly listed: Promise<void>;
}

/** The end of a turn. `isKeepable`: the process runs, and nothing in this turn speaks against another one. */
export type TalkedEnd = TurnEnd & { isKeepable: boolean };

/** One process of a program that is talked with. It takes one turn, or several of one thread, each under a token of its own. */
export class TalkedProcess {
  readonly #options: TurnRunOptions;
  readonly #files: TurnFiles;
  readonly #place: FaceSeat | undefined;
  readonly #talk: NonNullable<TurnProgram['talk']>;
  /** The agents whose messages it has worked on. */
  readonly senders = new Set<string>();
  #running: Running | undefined;
  #exit: ProcessEnd | undefined;
  #ending: Promise<boolean> | undefined;

  private constructor(
    options: TurnRunOptions,
    talk: NonNullable<TurnProgram['talk']>,
    { files, place }: { files: TurnFiles; place: FaceSeat | undefined },
  ) {
    this.#options = options;
    this.#talk = talk;
    this.#files = files;
    this.#place = place;
  }

  /** Makes the files of a process for its first turn. `keeps`: it may take more of them. */
  static async prepare(
    task: TurnTask,
    options: TurnRunOptions,
    { talk, keeps }: { talk: NonNullable<TurnProgram['talk']>; keeps: boolean },
  ): Promise<TalkedProcess> {
    const place = keeps ? await options.face?.openSeat() : undefined;
    try {
      const files = await prepareTurnFiles(task, options, place);
      return new TalkedProcess(options, talk, { files, place });
    } catch (error) {
      await place?.[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The id of the process; `undefined` if it was not started. */
  get pid(): number | undefined {
    return this.#running?.child.own.pid;
  }

  /** The end of the process, if it has ended. */
  get exit(): ProcessEnd | undefined {
    return this.#exit;
  }

  /** Resolves when the process has ended by itself. */
  get exited(): Promise<unknown> {
    return this.#running?.child.exited ?? Promise.resolve();
  }

  /**
   * Starts the process for its first turn, or makes it ready for another one: its calls have the token of the turn from now on. Returns
   * false if it can't take another turn, because it has ended or lost our MCP server.
   */
  async begin(task: TurnTask, token: string): Promise<boolean> {
    const { files } = this.#files;
    const running = this.#running;
    if (running && this.#exit) return false;
    for (const { from } of task.messages) this.senders.add(from);
    await files.writeToken(token);
    if (running) await writeMessages(files, task, this.#options);
    await task.onStarting();
    task.signal.throwIfAborted();
    const turn = turnOf(task, this.#options);
    this.#place?.seat.begin({ token, turn });
    if (running) {
      if (!(await this.#isServed(task.signal))) return false;
      running.child.tail.clear();
      task.onStarted({ pid: running.child.own.pid, tail: running.child.tail, isKept: true });
      return true;
    }
    this.#running = await this.#start(task, token);
    return true;
  }

  /** Takes a turn that has begun. The process is ended after it unless it may take another one. */
  async take(task: TurnTask, token: string): Promise<TalkedEnd> {
    const { child, talker, listed } = this.#running!;
    const { options, signal } = { options: this.#options, signal: task.signal };
    const { setup, turnTimeoutMs, startTimer: start = startTimer } = options;
    const { tail, exited } = child;
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
    const { messages } = task;
    const { thread } = turnOf(task, options);
    await using questions = turnQuestions({ ...setup, ...options, token, messages, thread });
    const ask: AskPerson = async (question, how) => {
      const goOn = clock.hold();
      task.onAsking?.(1);
      try {
        return await questions.ask(question, how);
      } finally {
        task.onAsking?.(-1);
        goOn();
      }
    };
    const talking = talker.take({
      prompt: turnPrompt(setup.agent, messages, task.denials),
      isQuestion: task.isQuestion,
      session: task.session,
      toolsListed: options.face && setup.inject ? listed : undefined,
      ask,
      toolsUsed: (calls) => task.onToolsUsed?.(calls),
      noteAllowed: ({ cli, tool }) =>
        questions.note({ cli, tool }).catch((thrown) => {
          const message = `the audit log has no entry that ${cli}:${tool} was allowed: ${messageOf(thrown)}`;
          if (!signal.aborted && !ending.signal.aborted) task.onWarning('not_audited', message);
        }),
      print: (text) => {
        tail.add(Buffer.from(text));
        task.onOutput(tail);
      },
      warn: task.onWarning,
      signal: AbortSignal.any([signal, ending.signal]),
    });
    const early = await Promise.race([talking, exited.then(() => undefined)]);
    const isStopped = signal.aborted;
    const isKeepable =
      early !== undefined && !isLate && !isStopped && isGood(early) && this.#place !== undefined;
    const isGone = isKeepable || (await this.end(early ? signal : undefined));
    // A program that ends by itself ends the talk: its answer may be among its last words.
    const end = early ?? (await talking);
    return {
      code: isKeepable ? null : (this.#exit?.code ?? null),
      endedBy: isKeepable ? null : (this.#exit?.signal ?? null),
      isLate,
      isSessionLost: false,
      ...outcome(isLate || isStopped ? { failed: '' } : end, isGone),
      tail,
      isKeepable,
    };
  }

  /**
   * Refuses the calls of the process until its next turn. Returns false if it could take none, because none of its MCP servers is left, or
   * one went: some agents start it again, and their next call fails all the same.
   */
  async pause(): Promise<boolean> {
    const seat = this.#place?.seat;
    await seat?.end();
    if (this.#exit !== undefined) return false;
    return !this.#expectsShims || (seat !== undefined && seat.known > 0 && !seat.hasLost);
  }

  /**
   * Ends the process and its group, and removes its files. It has a while to end by itself, unless the signal is aborted. Returns false if
   * it had to be ended.
   */
  end(signal?: AbortSignal): Promise<boolean> {
    this.#ending ??= this.#end(signal);
    return this.#ending;
  }

  async #end(signal: AbortSignal | undefined): Promise<boolean> {
    let isGone = true;
    if (this.#running) {
      const { child, talker } = this.#running;
      talker.close();
      child.input?.end();
      isGone = (await within(child.exited, farewellMs, signal)) !== late;
      child.stop();
      await child.exited;
      await child.cleanUp();
    }
    await this.#place?.[Symbol.asyncDispose]();
    await this.#files.files.remove();
    return isGone;
  }

  /** True if the agent has our MCP server in each turn. */
  get #expectsShims(): boolean {
    const { inject, acp } = this.#options.setup;
    return inject && acp?.server !== 'none';
  }

  /** Waits until the MCP servers of a kept process are served in its new turn. */
  async #isServed(signal: AbortSignal): Promise<boolean> {
    const seat = this.#place?.seat;
    if (!seat || !this.#expectsShims) return true;
    const gone = new AbortController();
    void this.exited.then(() => gone.abort());
    const served = seat.entered(AbortSignal.any([signal, gone.signal]));
    return (await within(served, shimsWaitMs)) !== late && !gone.signal.aborted;
  }

  async #start(task: TurnTask, token: string): Promise<Running> {
    const { setup, program, graceMs, face } = this.#options;
    const { files, command } = this.#files;
    const { plan, processStarted } = files;
    const output = talkOutput();
    // Watched from before the start, because an agent may list the tools at once.
    const listed = Promise.withResolvers<void>();
    const unwatch = face?.onSession(setup.agent, (event) => {
      const isOwn = event.token === token && event.turn?.seqs.join() === task.seqs.join();
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
      onOutput: () => child && task.onOutput(child.tail),
      graceMs: Math.min(graceMs, farewellMs),
    });
    processStarted(child.own);
    void child.exited.then((exit) => {
      this.#exit = exit;
      unwatch?.();
    });
    task.onStarted({ pid: child.own.pid, tail: child.tail });
    const { cwd } = setup;
    const server = plan.sessionServer;
    const talker = this.#talk({ input: bytesTo(child.input!), output: output.stream, cwd, server });
    return { child, talker, listed: listed.promise };
  }
}

/** Returns true if a turn was answered and nobody was asked, or everything was allowed. */
function isGood({ answer, denials = [] }: TalkEnd): boolean {
  return answer !== undefined && answer.asksNobody === undefined && denials.length === 0;
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
