import type { PrivateFile } from '../../agent-clis/injection.ts';
import type { InboxMessage } from '../../mailbox/inbox/inbox-message.ts';

/** One start of a served agent's program: everything that its command line, its input and its files may depend on. */
export interface Turn {
  agent: string;
  /**
   * The command line as the user gave it, the program first, with the options that tell the program of our MCP server already in it. A
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
   * The session that an earlier turn of the same thread has named, if sessions are kept and the program keeps any. The turn goes on with
   * it.
   */
  session: string | undefined;
  /** The private directory (0700) of this turn. It is removed when the turn has ended. */
  runDirectory: string;
}

/** How one turn of a program is started. */
export interface TurnCommand {
  /** The whole command line, the program first. It must not hold the prompt: other users can see command lines. */
  argv: readonly string[];
  /** The text that the program reads from standard input, which is then closed. */
  stdin: string;
  /** Variables to add. */
  env?: Readonly<Record<string, string>>;
  /** Files to write into the run directory before the program starts. */
  files?: readonly PrivateFile[];
  /** A file in the run directory that the program writes, and that {@link TurnProgram.answer} wants to read. */
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

/** What a program said at the end of a turn. */
export interface TurnAnswer {
  /** The final text, which is the reply unless the agent replied by tool. */
  text: string;
  /** The id with which a later turn of the same thread goes on; absent if the program told none. */
  session?: string;
}

/**
 * Knows how one kind of program takes one turn. It is pure: paths and texts in, paths and texts out. The MCP server, the token, the
 * process, its time limit and the reply are the business of `serve` alone.
 */
export interface TurnProgram {
  /** The arguments with which the program prints its help, and what stands there in a version that can take turns. */
  readonly needs?: { readonly help: readonly string[]; readonly words: readonly string[] };
  /** Returns how a turn is started. Throws `SignalboxError` `usage` for a command line that can't take turns, before anything connects. */
  command(turn: Turn): TurnCommand;
  /** Reads the answer of a turn that ended with exit code 0. Throws if the output tells of a failure all the same: the turn has failed then. */
  answer(output: TurnOutput): TurnAnswer;
  /**
   * Returns whether a turn failed because there is no such session any more. It is then started again at once, without one. A program
   * without this function keeps no sessions.
   */
  isSessionLost?(output: TurnOutput): boolean;
}
