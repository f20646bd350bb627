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

/** What was seen of a start when it failed, secrets included. */
export interface StartTrace {
  obstacle: StartObstacle;
  /** The processes that ran when it was given up. */
  processes: readonly RunningProcess[];
  stderrTail: string;
}

/** How the last start of a server failed, for its operator. It is free of secrets. */
export interface StartFailure {
  /** The command line. */
  command: string;
  /** The processes of the server when its start was given up. */
  processes: { pid: number; command: string }[];
  /** What probably caused it, and what to do. */
  advice: string[];
}
