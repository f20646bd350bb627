import type { ConnectionFlags } from '../../connection/connection.ts';

/** The options of `signalbox worker run`. `agent` is the agent to run, or a pattern. Times in milliseconds. */
export interface WorkerRunFlags extends ConnectionFlags {
  /** The folder that the agents work in. */
  cwd?: string;
  role?: string;
  ttl?: number;
  parent?: string;
  count: number;
  restart: 'never' | 'on-failure';
  restartDelay: number;
  stopTimeout: number;
  readyTimeout: number;
  tools: 'all' | 'search';
  inject: boolean;
  keepMcp?: boolean;
  /** False leaves out the hooks that tell an agent of new mail. */
  hooks: boolean;
  approveWorkspaceServers?: boolean;
  dryRun?: boolean;
  json?: boolean;
}
