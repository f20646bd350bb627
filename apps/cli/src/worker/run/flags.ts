import type { ConnectionFlags } from '../../connection/connection.ts';

/** The options that say which agents are started and what each of them is given. `agent` is the agent to run, or a pattern. */
export interface SetupFlags extends ConnectionFlags {
  /** The folder that the agents work in. */
  cwd?: string;
  role?: string;
  /** A time in milliseconds. */
  ttl?: number;
  count: number;
  tools: 'all' | 'search';
  inject: boolean;
  keepMcp?: boolean;
  /** False leaves out the hooks that tell an agent of new mail. */
  hooks: boolean;
  /** Wakes an idle agent when mail comes. */
  wake?: boolean;
  /**
   * `ask`: an agent's CLI asks a person before it uses tools of its own; `cli`: as it does by itself. An agent that speaks ACP may also be
   * denied or allowed everything that it asks for.
   */
  permissions: 'ask' | 'cli' | 'deny' | 'allow';
  approveWorkspaceServers?: boolean;
  dryRun?: boolean;
}

/** The options of `signalbox worker run`. Times in milliseconds. */
export interface WorkerRunFlags extends SetupFlags {
  parent?: string;
  restart: 'never' | 'on-failure';
  restartDelay: number;
  stopTimeout: number;
  readyTimeout: number;
  json?: boolean;
}
