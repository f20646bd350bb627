import type { FaceCommand, PrivateFile } from '../../agent-clis/injection.ts';
import type { InboxMessage } from '../../mailbox/inbox/inbox-message.ts';
import type { OpenCall } from '../serve-status.ts';

/** One start of a served agent's program: everything that its command line, its input and its files may depend on. */
export interface Turn {
  agent: string;
  /**
   * The command line as the user gave it, with the program first, and with the options that tell the program about our MCP server. A
   * program that takes further options adds them.
   */
  argv: readonly string[];
  /** The working directory of the program. */
  cwd: string;
  /** The messages for which the turn runs: one of kind ask or task, or several others. At least one. */
  messages: readonly InboxMessage[];
  /** The words for a model: what to do, and each message under the header that the broker attests. */
  prompt: string;
  /** The bodies of the messages alone, as they were sent: a text as it is, anything else as JSON. */
  text: string;
  /**
   * The session that an earlier turn of the same thread has named, if sessions are kept and the program keeps any. The turn continues it.
   */
  session: string | undefined;
  /** The private directory (0700) of this turn. It is removed when the turn has ended. */
  runDirectory: string;
}

/** The command line, the input and the files with which one turn of a program is started. */
export interface TurnCommand {
  /** The whole command line, the program first. It must not hold the prompt: other users can see command lines. */
  argv: readonly string[];
  /** The text that the program reads from standard input, which is then closed. */
  stdin: string;
  /** Variables that are added to the environment. */
  env?: Readonly<Record<string, string>>;
  /** Files to write into the run directory before the program starts. */
  files?: readonly PrivateFile[];
  /** A file in the run directory that the program writes and {@link TurnProgram.answer} reads. */
  answerFile?: string;
}

/** Everything that a turn's program left behind. Texts are bounded: see `turn-output.ts`. */
export interface TurnOutput {
  /** The exit code; `null` if a signal ended the program. */
  code: number | null;
  /** Standard output: all of it if it is short enough, else its end, from the beginning of a line on. */
  stdout: string;
  /** The beginning of standard output, where programs with a stream of events name their session. */
  stdoutHead: string;
  /** The bytes of standard output that `stdout` lacks. */
  cutBytes: number;
  /** The end of standard error. */
  stderr: string;
  /** The content of {@link TurnCommand.answerFile}, if it is there. */
  file: string | undefined;
}

/** The answer of a program at the end of a turn. */
export interface TurnAnswer {
  /** The final text, which is the reply unless the agent replied by tool. */
  text: string;
  /** The id with which a later turn of the same thread continues the session; absent if the program reported none. */
  session?: string;
  /** Why the program asked nobody for permissions, although it was to ask; absent if it asked, or was not to. */
  asksNobody?: string;
}

/** A process of a program that is talked with over its standard input and output. */
export interface TalkProcess {
  /** The bytes to and from the program. */
  readonly input: WritableStream<Uint8Array>;
  readonly output: ReadableStream<Uint8Array>;
  readonly cwd: string;
  /** The command that serves our MCP server; absent if the program is not to be told of it. */
  readonly server: FaceCommand | undefined;
}

/** Talks with one process, for one turn after the other. Closing it ends the talk, and not the process. */
export interface Talker {
  /** Takes a turn. Never rejects. */
  take(talk: TurnTalk): Promise<TalkEnd>;
  close(): void;
}

/** One turn of a program that is talked with. */
export interface TurnTalk {
  readonly prompt: string;
  /** True if a sender waits for a reply. */
  readonly isQuestion: boolean;
  /** The session to continue. Only the first turn of a process looks at it. */
  readonly session: string | undefined;
  /** Resolves when a client has listed our tools with the turn's token; absent if nobody can see that, or has to wait for it. */
  readonly toolsListed: Promise<void> | undefined;
  /** Asks a person whether the program may use a tool of its own. */
  readonly ask: AskPerson;
  /** Has the audit log note a use of a tool that is allowed without a question to a person. Resolves when it has, or can't. */
  noteAllowed(use: { cli: string; tool: string }): Promise<void>;
  /** Tells that the uses of tools that have not ended are others than before. `calls` returns them. */
  toolsUsed(calls: () => readonly OpenCall[]): void;
  /** Adds a text for people to the turn's output. */
  print(text: string): void;
  warn(code: TalkWarning, message: string): void;
  /** Aborted when the turn is to end. */
  readonly signal: AbortSignal;
}

/**
 * Asks a person whether the program may use a tool of its own. Resolves with the decision; the reason is for a model.
 */
export type AskPerson = (
  question: { cli: string; tool: string; input: unknown; once: boolean; replaces?: string },
  options: { id: string; signal: AbortSignal },
) => Promise<Verdict>;

/** A decision on a use of a tool. `isDecided` is false if nobody could be asked any more. */
export type Verdict = { isAllowed: true } | { isAllowed: false; reason: string; isDecided: boolean };

/** A reason for a warning of a turn that is talked with. */
export type TalkWarning = 'no_tools' | 'session_lost' | 'asks_nobody' | 'not_audited' | 'not_canceled';

/** The end of a talk: an answer, or the reason why there is none. */
export type TalkEnd = (
  | { answer: TurnAnswer; failed?: undefined }
  | { answer?: undefined; failed: string }
) & {
  /** True if the turn's messages are not to be tried again. */
  isFinal?: true;
  /** The session of a turn without an answer that its thread goes on with. */
  session?: string;
  /** True if the program can work on no message now. */
  isUnavailable?: true;
  /** True if the connection to the program ended in the middle. */
  isCutOff?: boolean;
  /** The reasons with which uses of tools were denied, for the next turn of the thread. */
  denials?: readonly string[];
};

/**
 * Knows how one kind of program takes one turn. It is pure: it gets and returns paths and texts. `serve` alone handles the MCP server, the
 * token, the process, its time limit and the reply.
 */
export interface TurnProgram {
  /** The arguments with which the program prints its help, and words that the help of every version which can take turns contains. */
  readonly needs?: { readonly help: readonly string[]; readonly words: readonly string[] };
  /** Why the program's sessions are not continued. */
  readonly forgets?: string | undefined;
  /** Takes turns by talking with the program, in place of writing its input and reading its output at its end. */
  readonly talk?: (process: TalkProcess) => Talker;
  /** Returns the command of a turn. Throws `SignalboxError` `usage` for a command line that can't take turns, before anything connects. */
  command(turn: Turn): TurnCommand;
  /**
   * Reads the answer of a turn that ended with exit code 0. Throws if the output nevertheless reports a failure: then the turn has failed.
   */
  answer(output: TurnOutput): TurnAnswer;
  /**
   * Returns what the program told of the failure of a turn that ended with another exit code, in words for a person. Without it the last
   * line of the output tells.
   */
  failure?(output: TurnOutput): string | undefined;
  /**
   * Returns true if a turn failed because its session no longer exists. The turn is then started again at once, without a session. A
   * program without this function keeps no sessions.
   */
  isSessionLost?(output: TurnOutput): boolean;
  /** Returns true if a turn failed because the program's model takes no requests now. It may throw if the output tells nothing of that. */
  isUnavailable?(output: TurnOutput): boolean;
}
