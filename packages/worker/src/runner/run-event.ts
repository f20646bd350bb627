/** The exit code or the signal of a process that ended; the other one is null. */
export interface ProcessEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** An event of a supervised agent. Times in milliseconds. */
export type RunEvent =
  | { event: 'started'; agent: string; pid: number; command: string; restarts: number }
  /** The agent's MCP face is connected to the broker, and its client has listed the tools. */
  | { event: 'ready'; agent: string; pid: number; afterMs: number }
  /** The agent had tools, and none of its MCP clients is connected any more. */
  | { event: 'tools_lost'; agent: string; pid: number }
  | { event: 'tools_back'; agent: string; pid: number; lostForMs: number }
  | ({ event: 'exited'; agent: string; pid: number } & ProcessEnd & ExitReport)
  /** The broker was unreachable when a process ended; it is back now and knows about the exit. */
  | ({ event: 'exit_reported'; agent: string } & Pick<ExitReport, 'told' | 'heldIds'>)
  | { event: 'restarting'; agent: string; inMs: number; restarts: number }
  | { event: 'gave_up'; agent: string; failures: number; withinMs: number }
  | { event: 'warning'; agent: string; code: RunWarning; message: string };

/** A reason for a warning. */
export type RunWarning =
  | 'not_ready'
  | 'token_not_revoked'
  | 'parent_not_told'
  | 'no_token_yet'
  | 'workspace_file_changed'
  | 'workspace_exposed'
  | 'unlisted_role'
  | 'runs_already'
  | 'no_shared_face'
  | 'config_unread';

/** Facts that the supervisor learned when a process ended. */
export interface ExitReport {
  /** True if the parent has a message about it. */
  told: boolean;
  /** Messages that were handed to the agent and are not settled: they will be handed out again. */
  heldIds: string[];
  /** The end of a failed agent's output, at most 64 KiB; empty on a terminal, where no output is kept. */
  output: string;
}
