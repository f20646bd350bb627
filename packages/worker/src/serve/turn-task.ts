import type { StartTimer } from '@signalbox/client/internal';
import type { Tracing } from '@signalbox/serving/tracing';
import type { InboxMessage } from '../mailbox/inbox/inbox-message.ts';
import type { AgentSetup } from '../runner/agent-plan.ts';
import type { ChildToken } from '../runner/child-token.ts';
import type { CleanupProcess } from '../runner/cleanup/cleanup-process.ts';
import type { OutputTail } from '../runner/output/output-tail.ts';
import type { RunRoot } from '../runner/run-directory.ts';
import type { RunFace } from '../runner/run-face.ts';
import type { TalkWarning, TurnAnswer, TurnProgram } from './program/turn-program.ts';
import type { OpenCall } from './serve-status.ts';

/** The program, the directories and the time limits of an agent's turns. */
export interface TurnRunOptions {
  setup: AgentSetup;
  /** The path of the command line's program. */
  program: string;
  /** The rules by which the program takes turns. */
  turns: TurnProgram;
  /** The face at which the agent lists our tools, for programs that are talked with. */
  face?: Pick<RunFace, 'onSession' | 'openSeat'> | undefined;
  /** The agent id of the orchestrator; default `orchestrator`. */
  orchestrator?: string | undefined;
  /** The longest time for which a turn stands still while people are asked, in milliseconds; default one hour. */
  mostAskingMs?: number | undefined;
  tracing?: Tracing | undefined;
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
  /** The thread whose turns it joins. */
  thread: string | undefined;
  /** Their sequence numbers. */
  seqs: readonly number[];
  session: string | undefined;
  /** True if a sender waits for a reply. */
  isQuestion: boolean;
  /** The reasons with which the last turn of the thread was denied uses of tools. */
  denials: readonly string[];
  /** Returns a token for the process. */
  issueToken: () => Promise<ChildToken>;
  /** Called before the process is started, because it may have an effect from then on. The process is started when this resolves. */
  onStarting: () => Promise<void>;
  /** Called when the process has been started, or goes on. An agent of another system has no `pid`. */
  onStarted: (process: { pid?: number; tail: OutputTail; isKept?: true }) => void;
  onOutput: (tail: OutputTail) => void;
  /** Called with each warning of a program that is talked with. */
  onWarning: (code: TalkWarning, message: string) => void;
  /** Called when a question begins to wait for a person (1), and when it no longer does (-1). */
  onAsking?: (change: 1 | -1) => void;
  /** Called when the process was kept after the turn, and has ended without a further one. */
  onKeptEnded: (ended: { pid: number | undefined; why: string }) => void;
  /** Called when the uses of tools of a program that is talked with have changed. `calls` returns those that have not ended. */
  onToolsUsed?: (calls: () => readonly OpenCall[]) => void;
  /** Aborting it ends the process and its group. */
  signal: AbortSignal;
}

/** The exit of a turn's process, and its answer. */
export interface TurnEnd {
  /** The exit code; `null` if a signal ended the process, or it is kept. */
  code: number | null;
  /** The signal that ended the process, if one did; it may have come from outside. */
  endedBy: NodeJS.Signals | null;
  /** True if the turn took longer than it may. */
  isLate: boolean;
  /** True if the turn failed because its session no longer exists. */
  isSessionLost: boolean;
  /** True if the program said that it can work on no message now. */
  isUnavailable: boolean;
  /** True if the turn's messages are not to be tried again. */
  isFinal: boolean;
  /** The session of a turn without an answer that its thread goes on with. */
  session?: string | undefined;
  /** The reasons with which uses of tools were denied. */
  denials: readonly string[];
  /** The answer of the program; `undefined` if the turn failed. */
  answer: TurnAnswer | undefined;
  /** The reason that the program told of its failure; `undefined` if it ended with exit code 0 or told nothing that its rules can read. */
  told: string | undefined;
  /** The reason why a program that ended well gave no answer. */
  problem: string | undefined;
  tail: OutputTail;
  /** Called when the broker has stored the answer, or refused it for good. */
  onSettled?: (() => void) | undefined;
  /** Set if the signal ended the turn, and the work on its message goes on elsewhere: the reason why the message comes again. */
  leaves?: string | undefined;
}
