import type { QuestionKind } from '@signalbox/protocol';
import type { SecretMark } from '../redaction/index.ts';
import type { ServerAuth } from '../server-auth/index.ts';
import type { ServerLimits } from './server-limits.ts';

/** The callers that share an instance of a server: all of them, the agents of one role, or a single agent. */
export type ServerSharing = 'all' | 'role' | 'worker';

/** The settings of a server that do not depend on its transport. Times are in milliseconds. */
export interface ServerPolicy {
  /**
   * Default `all`. With `role` or `worker`, `${instance}` in a stdio server's `args`, `env` and `cwd` stands for the
   * name of the instance in a form that fits a file name, for example `worker-rosa`:
   * `MEMORY_FILE_PATH: ${data}/memory-${instance}.jsonl`.
   */
  share?: ServerSharing;
  /** True: the first call starts the server. By default it is started with the host. */
  lazy?: boolean;
  /** The idle time after which an instance of a lazy or unshared server is ended, in milliseconds; 0 means never. Default 5 min. */
  keepAliveMs?: number;
  /**
   * The number of restarts within the window after which the server is ejected until it is reloaded. Default 5 in 5 min for stdio. An HTTP
   * server, which others run, is reconnected to without end.
   */
  maxRestarts?: number;
  restartWindowMs?: number;
  /** The time that the server may take to start, shake hands and list its tools. Default 60 s. */
  startTimeoutMs?: number;
  /** The longest time that a call waits for the server once two starts in a row have failed; 0 means not at all. Default 5 s. */
  downWaitMs?: number;
  /** The number of consecutive transport failures that opens the circuit breaker. Default 5. */
  circuitThreshold?: number;
  /** The time for which the circuit breaker then stays open. Default 30 s. */
  circuitResetMs?: number;
  /** The number of calls that may run on the server at once. Default: the orchestrator's limit per server. */
  concurrency?: number;
  /** The longest time that a single call may take; the caller's deadline applies as well. */
  timeoutMs?: number;
  /** Bounds what the server may send; by default `defaultServerLimits`. */
  limits?: Partial<ServerLimits>;
  /**
   * The revisions of MCP to speak: with `legacy`, 2025-11-25 and earlier; with `auto`, the current one if the server
   * knows it. A stdio server that exits when it is asked for the current one is started once more. Default: `auto` for
   * HTTP; for stdio, `legacy`, and `auto` if the server refuses that.
   */
  protocol?: 'legacy' | 'auto';
  /**
   * The kinds of questions that a server of a revision up to 2025-11-25 may ask its callers; default `elicitation` and `sampling`. `roots`
   * needs `share: worker`.
   */
  questions?: readonly QuestionKind[];
  /** True: the server is only known by name and never started. */
  disabled?: boolean;
  /** False: its tools may be called by their exact names, but are not listed. */
  toolDiscovery?: boolean;
  /** The tools that are shown, by the server's own names or patterns with `*`; by default all of them. */
  includeTools?: readonly string[];
  /** The tools that are not shown, also if {@link includeTools} has them. */
  excludeTools?: readonly string[];
  /** False: its tools are shown under their own names, without `mcp_{server}__`. */
  prefix?: boolean;
  /**
   * With `pin`, a definition of a tool or a prompt is shown only in the form in which it was first seen, or which an operator has
   * accepted. A card counts as the first sight. Default `follow`: changes of the server take effect at once.
   */
  definitions?: 'follow' | 'pin';
  /** The path or URL of a server card, which lists the tools of a server that has not started yet. */
  card?: string;
  /**
   * Says which values are secrets, by their places: `env.NAME`, `args[0]`, `headers.NAME`, `url`, `auth.clientId`. Values without a mark
   * are judged by their names and forms.
   */
  secrets?: Readonly<Record<string, SecretMark>>;
}

/** An MCP server run as a child process that speaks JSON lines on its standard input and output. */
export interface StdioServerConfig extends ServerPolicy {
  type: 'stdio';
  command: string;
  args?: string[];
  /** Variables for this server, which replace inherited ones; names that start with `SIGNALBOX_` are left out. */
  env?: Record<string, string>;
  /**
   * Names of variables of this process that the server gets besides those that every server gets, or patterns with `*`.
   * A pattern leaves out variables that look like secrets; an exact name does not.
   */
  inheritEnv?: string[];
  /**
   * The working directory; by default that of the host. In it, in `args` and in `env`, `${data}` stands for a folder of the server in
   * the host's `stateDir`, which is made when it is needed.
   */
  cwd?: string;
  /** True: processes that it moved out of its process group stay when it ends. By default they are ended; Linux only. */
  leaveDetached?: boolean;
}

/** An MCP server behind a Streamable HTTP endpoint. */
export interface HttpServerConfig extends ServerPolicy {
  type: 'http';
  url: string;
  headers?: Record<string, string>;
  auth?: ServerAuth;
}

/** An MCP server that an orchestrator with a label hosts, perhaps on another machine. */
export interface RemoteServerConfig extends ServerPolicy {
  type: 'remote';
  /** The label of that orchestrator. */
  label: string;
}

/** The configuration of one hosted server. */
export type McpServerConfig = StdioServerConfig | HttpServerConfig | RemoteServerConfig;
