import type { OwnProcess } from '../process/process-ending.ts';
import type { WorkspaceClaim } from '../workspace/workspace-record.ts';

/** The things that one agent's run leaves behind if the supervisor dies: its process, and the files that the process used. */
export interface CleanupTask {
  process?: OwnProcess;
  /** The run directories. */
  directories?: string[];
  /** The entries in files of workspaces. */
  claims?: WorkspaceClaim[];
}

/** One line from the supervisor to its cleanup process, which acts on the newest line only. */
export interface CleanupList {
  graceMs: number;
  tasks: CleanupTask[];
}
