import type { Implementation } from '@modelcontextprotocol/client';
import type { Tool } from '@signalbox/protocol';
import type { Authorizer, AuthState } from '@signalbox/server-auth';
import type { CallOptions, ToolCallResult } from '../calls/tool-call.ts';
import type { ToolProvider } from '../calls/tool-provider.ts';
import type { HostTuning } from '../config/host-tuning.ts';
import type { HttpServerConfig, McpServerConfig, ServerSharing } from '../config/server-config.ts';
import type { Inventory, ToolRoute } from '../inventory/inventory.ts';

/**
 * `idle`: not started, the first call starts it. `ejected`: failed too often, and `needs_auth`: a person has to sign in;
 * both last until a reload. `stopped`: by an operator, or with the host. `disabled`: by the configuration.
 */
export type ServerState =
  | 'idle'
  | 'starting'
  | 'ready'
  | 'backing_off'
  | 'ejected'
  | 'needs_auth'
  | 'stopped'
  | 'disabled';

/** How a hosted server is doing, all its instances together. Times in milliseconds. */
export interface ServerStatus {
  name: string;
  /** Of the instance that fares best. */
  state: ServerState;
  transport: 'stdio' | 'http';
  share: ServerSharing;
  lazy: boolean;
  /** That are up, or on their way. */
  instances: number;
  /** Of the processes of a stdio server. */
  pids: number[];
  /** The first of {@link pids}. */
  pid?: number;
  /** Of the instance that is up longest. */
  uptimeMs?: number;
  /** Starts of an instance after its first, of all instances that exist. */
  restarts: number;
  toolCount: number;
  inFlight: number;
  consecutiveFailures: number;
  circuit: 'closed' | 'open' | 'half_open';
  cacheEntries: number;
  cacheHits: number;
  /** That reached the server. */
  calls: number;
  p50Ms?: number;
  p95Ms?: number;
  /** Where the sign-in stands, for a server that has one. */
  auth?: AuthState;
  /** Free of secrets. */
  lastError?: string;
}

/** One line for the log. `event` says what happened, the rest are its facts. */
export interface HostEvent {
  event: string;
  [fact: string]: unknown;
}

export interface McpHostOptions {
  /** By the names that people gave them; the order decides who keeps a disputed tool name. */
  servers: Record<string, McpServerConfig>;
  log?: (event: HostEvent) => void;
  /** Monotonic milliseconds. */
  now?: () => number;
  random?: () => number;
  /** Longest tool name on offer, in characters; 48 unless set. */
  toolNameMax?: number;
  /** How we introduce ourselves to the servers. */
  clientInfo?: Implementation;
  tuning?: Partial<HostTuning>;
  /** Directory where the processes of servers are recorded, so that the next start ends those a killed host left behind. Of one host at a time. */
  stateDir?: string;
  /** Processes of all stdio servers together; 64 unless set. */
  maxProcesses?: number;
  /** Tools that come from elsewhere than MCP servers. */
  providers?: readonly ToolProvider[];
  /** The reason to refuse a {@link McpHost.spawn}, if there is one. */
  guard?: (name: string, config: McpServerConfig) => string | undefined;
  /** The access to a server that has `auth`; asked once per server. */
  authorizerFor?: (name: string, config: HttpServerConfig) => Authorizer | undefined;
  /** For server cards behind a URL. */
  fetch?: typeof fetch;
}

/** The names of the servers an {@link McpHost.apply} touched. */
export interface ServerChanges {
  added: string[];
  removed: string[];
  changed: string[];
}

/** What one server offers, for an operator: tools as the server describes them, and `as`, the name they are called by here. */
export interface DiscoveredServer {
  server: string;
  tools: (Tool & { as: string })[];
  error?: string;
}

/** Runs a set of MCP servers and offers their tools under one roof. */
export interface McpHost extends AsyncDisposable {
  /**
   * The tools on offer. The first time it waits until every server has started or failed to (20 s at most), so that a
   * warm-up never looks like an empty list; a server that is missing is named in `problems`.
   */
  inventory(): Promise<Inventory>;
  /** Called with each new inventory after the first whose version differs. Returns the way to stop that. */
  onInventoryChanged(listener: (inventory: Inventory) => void): () => void;
  /** Calls a tool by its name in the inventory. Never rejects. */
  call(name: string, args: Record<string, unknown>, options: CallOptions): Promise<ToolCallResult>;
  /** Where a call by that name would go now. */
  route(name: string): ToolRoute | undefined;
  servers(): ServerStatus[];
  /** The last 64 KiB a server's process wrote to its standard error, without the secrets of its configuration. */
  stderrTail(server: string): string;
  /**
   * Makes the configured servers what this says; those whose configuration is the same are not touched, and calls under
   * way on the others may finish. Servers from {@link spawn} stay unless their name is taken. Rejects with `bad_config`,
   * before anything has changed.
   */
  apply(servers: Record<string, McpServerConfig>): Promise<ServerChanges>;
  /** Adds a server besides the configuration. Rejects with `SignalboxError` `spawn_refused` or `bad_config`. */
  spawn(name: string, config: McpServerConfig): Promise<void>;
  /** Starts a server that was stopped or is idle, and waits until it is up or has failed to. Rejects with `server_not_found`. */
  start(name: string): Promise<ServerStatus>;
  /** Ends a server's processes; it stays down until it is started or reloaded. Rejects with `server_not_found`. */
  stop(name: string): Promise<ServerStatus>;
  /** New sessions, no ejection, no memory of failures or cached results. Rejects with `server_not_found`. */
  reload(name: string): Promise<ServerStatus>;
  /** What every server offers, starting those that were not needed yet. An unreachable one comes with its error. */
  discover(): Promise<DiscoveredServer[]>;
  /** Ends every server and resolves when their processes have exited. Calls under way end as failures. */
  close(): Promise<void>;
}
