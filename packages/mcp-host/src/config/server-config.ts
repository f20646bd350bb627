import type { ServerAuth } from '@signalbox/server-auth';

/** Whom one process of a server serves: everybody, the agents of one role, or one agent. */
export type ServerSharing = 'all' | 'role' | 'worker';

/** How a server is kept and used, whatever its transport. Times in milliseconds. */
export interface ServerPolicy {
  /**
   * Default `all`. With `role` or `worker`, `${instance}` in a stdio server's `args`, `env` and `cwd` stands for the name of
   * the instance, such as `worker-rosa`, fit for a file name: `MEMORY_FILE_PATH: /data/memory-${instance}.jsonl`.
   */
  share?: ServerSharing;
  /** Started by the first call instead of at once. */
  lazy?: boolean;
  /** How long an instance that nobody uses stays up: for lazy and unshared ones; 0 means for ever. Default 5 min. */
  keepAliveMs?: number;
  /**
   * Restarts within the window after which the server is ejected until it is reloaded. Default 5 in 5 min for stdio; an HTTP
   * server, which somebody else runs, is connected to again without end.
   */
  maxRestarts?: number;
  restartWindowMs?: number;
  /** Consecutive transport failures that open the circuit breaker. Default 5. */
  circuitThreshold?: number;
  /** How long it then stays open. Default 30 s. */
  circuitResetMs?: number;
  /** Calls that run on it at once; the orchestrator's limit per server, unless given. */
  concurrency?: number;
  /** The longest a single call may take; the caller's deadline applies as well. */
  timeoutMs?: number;
  /**
   * `legacy` speaks 2025-11-25 and earlier; `auto` asks for the current revision first; a stdio server that
   * ends on that question is started once more. Default: `legacy` for stdio, `auto` for HTTP.
   */
  protocol?: 'legacy' | 'auto';
  /** Known by name, but not started. */
  disabled?: boolean;
  /** False: its tools may be called by their exact names, but are not listed. */
  toolDiscovery?: boolean;
  /** False: its tools are offered under their own names, without `mcp_{server}__`. */
  prefix?: boolean;
  /** A server card, as a path or URL: what a server that has not started yet offers. */
  card?: string;
}

/** An MCP server run as a child process that speaks JSON lines on its standard input and output. */
export interface StdioServerConfig extends ServerPolicy {
  type: 'stdio';
  command: string;
  args?: string[];
  /** Added to the small environment every server gets; names that start with `SIGNALBOX_` are left out. */
  env?: Record<string, string>;
  cwd?: string;
}

/** An MCP server behind a Streamable HTTP endpoint. */
export interface HttpServerConfig extends ServerPolicy {
  type: 'http';
  url: string;
  headers?: Record<string, string>;
  auth?: ServerAuth;
}

export type McpServerConfig = StdioServerConfig | HttpServerConfig;
