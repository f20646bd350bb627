import type { RunningProcess } from '../processes/process-tree.ts';

/** The reason for which a process could not be started, or for which its start was given up. */
export type StartObstacle =
  | 'no_command'
  | 'no_interpreter'
  | 'not_executable'
  | 'no_directory'
  | 'timed_out'
  | 'ended'
  | 'other';

/** The facts that were observed of a failed start, secrets included. */
export interface StartTrace {
  obstacle: StartObstacle;
  /** The processes that ran when it was given up. */
  processes: readonly RunningProcess[];
  stderrTail: string;
}

/** Describes the failure of a server's last start for its operator. It is free of secrets. */
export interface StartFailure {
  /** The command line of a server that runs on this machine. */
  command?: string;
  /** The scheme, host and port of a server behind HTTP. The rest of its URL may hold a key. */
  origin?: string;
  /** The processes of the server when its start was given up. */
  processes: { pid: number; command: string }[];
  /** The probable causes, and what to do about them. */
  advice: string[];
}
