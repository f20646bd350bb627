import type { CancelSignal, McpContentMethod, Tool, ToolCallError } from '@signalbox/protocol';
import type { Tracing } from '@signalbox/serving/tracing';
import type { DefinitionKey, DefinitionPins } from '@signalbox/store/journal';
import type { HostTuning } from '../config/host-tuning.ts';
import type { HttpServerConfig, McpServerConfig } from '../config/server-config.ts';
import type { ComparedDefinition, SeenDefinition } from '../definitions/server-definitions.ts';
import type { HostEvent } from '../host-event.ts';
import type { Inventory, WithheldDefinition } from '../inventory/inventory.ts';
import type { ConnectRemote } from '../remote/remote-connection.ts';
import type { Authorizer } from '../server-auth/index.ts';
import type { ServerEvent } from '../servers/server-events.ts';
import type { ServerChanges } from '../servers/server-registry.ts';
import type { ServerStatus, ToolGap } from '../servers/server-status.ts';
import type { CallOptions, NamedSecret, ToolCallResult, ToolProvider } from '../tool-calls/index.ts';
import type { ToolRoute, WithheldHints } from './inventory-tracker.ts';

/** The servers of a host, and its settings. */
export interface McpHostOptions {
  /** The servers by the names that people gave them; the order decides which tool keeps a disputed name. */
  servers: Record<string, McpServerConfig>;
  log?: (event: HostEvent) => void;
  /** Makes a span of each call that is sent to a server. */
  tracing?: Tracing | undefined;
  /** Monotonic milliseconds. */
  now?: () => number;
  random?: () => number;
  /** The longest shown tool name, in characters; 48 unless set. */
  toolNameMax?: number;
  tuning?: Partial<HostTuning>;
  /**
   * The directory where the processes of servers are recorded, so that the next start ends those that a killed host left behind. It also
   * holds the folders of servers that `${data}` stands for. Only one host at a time may use it.
   */
  stateDir?: string;
  /** Keeps the pins of servers with `definitions: pin`, for which it is required. */
  pins?: DefinitionPins;
  /** The number of processes that all stdio servers together may run; 64 unless set. */
  maxProcesses?: number;
  /** Sources of tools that are not MCP servers. */
  providers?: readonly ToolProvider[];
  /** Returns the reason to refuse a {@link McpHost.spawn}, if there is one. */
  guard?: (name: string, config: McpServerConfig) => string | undefined;
  /** Returns the access to a server that has `auth`; asked once per server. */
  authorizerFor?: (name: string, config: HttpServerConfig) => Authorizer | undefined;
  /** Finds the servers of type `remote`. */
  connectRemote?: ConnectRemote;
  /**
   * Called when the first start of a server has succeeded or failed, or is not needed, with the end of its standard error. It is called
   * again for a server that {@link McpHost.apply} or {@link McpHost.spawn} adds or changes.
   */
  onFirstStart?: (status: ServerStatus, stderrTail: string) => void;
  /** Fetches server cards that stand behind a URL. */
  fetch?: typeof fetch;
}

/** The tools of one server for an operator: as the server describes them, and `as`, their names in this host. */
export interface DiscoveredServer {
  server: string;
  tools: (Tool & { as: string })[];
  error?: string;
}

/** A server or a provider with everything that it has, as it describes that itself. */
export interface ServerContent {
  server: string;
  state: ServerStatus['state'];
  problem: string | undefined;
  /** False until its lists are known. */
  isKnown: boolean;
  /** Changes exactly when one of the lists does. */
  version: string;
  tools: readonly object[];
  prompts: readonly object[];
  resources: readonly object[];
  templates: readonly object[];
  instructions: string | undefined;
}

/** A server whose tools are not known yet. */
export interface MissingServer extends ToolGap {
  server: string;
  /** False for a server whose tools will keep their own names. */
  prefix: boolean;
}

/** A definition of a pinned server, for an operator. */
export interface HostedDefinition extends ComparedDefinition {
  server: string;
  /** The name of a tool or a prompt in this host. */
  as?: string;
}

/** Arguments that were checked, as the server of their tool gets them. */
export interface FittedArguments {
  args: Record<string, unknown>;
  /** The definition of the tool that they fit. */
  fits: Tool;
}

/** The options of a call by the name of its tool. */
export interface HostCallOptions extends CallOptions {
  /**
   * The definition for which {@link McpHost.check} returned the arguments: they are not checked again. If the tool has another definition
   * when the call is made, it is made only if that would not rewrite them.
   */
  fits?: Tool | undefined;
}

/** Runs a set of MCP servers and lists their tools in one inventory. */
export interface McpHost extends AsyncDisposable {
  /**
   * Resolves with the shown tools. The first call waits (20 s at most) until every server has started or failed to start, so that a
   * warm-up never looks like an empty list. A missing server is named in `problems`.
   */
  inventory(): Promise<Inventory>;
  /** Resolves when the lists that servers have announced as changed were read, or after `mostMs` milliseconds. */
  listsRead(mostMs: number): Promise<void>;
  /** Returns the tools that are shown now. While servers start for the first time, theirs are missing. */
  presentInventory(): Inventory;
  /** Calls `listener` with each inventory after the first whose version differs. Returns a function that removes the listener. */
  onInventoryChanged(listener: (inventory: Inventory) => void): () => void;
  /**
   * Calls `listener` with the tools whose hints are withheld now, if there are any, and later with each tool whose withheld hints have
   * changed. Returns a function that removes the listener.
   */
  onHintsWithheld(listener: (withheld: WithheldHints[]) => void): () => void;
  /** Does what {@link onHintsWithheld} does, for definitions of pinned servers. */
  onDefinitionsWithheld(listener: (withheld: WithheldDefinition[]) => void): () => void;
  /** Lists the servers whose definitions are pinned. */
  pinnedServers(): string[];
  /** Compares the definitions that pinned servers list with those that are pinned, server by server. */
  definitions(server?: string): HostedDefinition[];
  /** Reads a pinned value; `undefined` if nothing is pinned, or the record is damaged. */
  pinnedValue(server: string, key: DefinitionKey): Promise<unknown>;
  /**
   * Pins definitions that are withheld, and shows them from now on. `by` is the operator who has seen them. If the server now lists
   * another definition than one of those, nothing is pinned, and the keys of the definitions that differ are returned. Rejects
   * with `server_not_found`, or the errors of the store of pins.
   */
  acceptDefinitions(server: string, seen: readonly SeenDefinition[], by: string): Promise<DefinitionKey[]>;
  /**
   * Calls `listener` with each change of a server: the first listener gets those since the start, others those from now on. Returns a
   * function that removes the listener.
   */
  onServerEvent(listener: (event: ServerEvent) => void): () => void;
  /** Returns the destination of a call by that name, even if no tool has the name now. */
  route(name: string): ToolRoute;
  /**
   * Checks the arguments of a call against the present definition of its tool, and rewrites them without loss if they fit only then.
   * Returns `undefined` if no tool has the name now.
   */
  check(
    route: ToolRoute,
    args: Record<string, unknown>,
  ): FittedArguments | { error: ToolCallError } | undefined;
  /**
   * Calls a tool by its name in the inventory, or by a route. Arguments that were not checked are checked first; see {@link check}. Never
   * rejects.
   */
  call(
    tool: string | ToolRoute,
    args: Record<string, unknown>,
    options: HostCallOptions,
  ): Promise<ToolCallResult>;
  /** Returns true if a call of an agent waits for its answers under this `requestState`. */
  waitsFor(state: string | undefined, agent: string | undefined): boolean;
  /** Ends a call of an agent that waits for its answers under this `requestState`, if there is one. */
  stopWaiting(state: string | undefined, agent: string): void;
  /**
   * Waits for the tool of a route, if the server that its name may belong to has not listed its tools yet. Also resolves if it does not
   * come in time.
   */
  listed(route: ToolRoute, wait: { timeoutMs: number; signal: CancelSignal }): Promise<void>;
  /** Sends a server a request that has no effect, as {@link call} makes a call. Never rejects. */
  request(
    server: string,
    request: { method: McpContentMethod; params: Record<string, unknown> },
    options: CallOptions,
  ): Promise<ToolCallResult>;
  /**
   * Calls `onUpdated` when a server reports that a resource has changed, from any instance that serves the caller. Returns a function that
   * ends the subscription; `undefined` if the server cannot be asked now.
   */
  follow(
    resource: { server: string; uri: string },
    caller: CallOptions['caller'],
    onUpdated: () => void,
  ): (() => void) | undefined;
  /** Reports the status of each hosted server, in the order of the configuration. */
  servers(): ServerStatus[];
  /** Lists what each server and provider has, without withheld definitions. */
  contents(): ServerContent[];
  /** Returns the name here of a tool, by the names that its server and the configuration have; `undefined` if there is no such tool. */
  nameOf(server: string, tool: string): string | undefined;
  /** Returns the label of the orchestrator that hosts a server; `undefined` for a server of this host. */
  labelOf(server: string): string | undefined;
  /** Lists the servers that may have tools in lists but have not listed any yet. */
  missing(): MissingServer[];
  /** Lists the secrets of all servers: those of their configurations, the access tokens granted for them, and those of providers. */
  secrets(): NamedSecret[];
  /** Returns the last 64 KiB of a server's standard error, without the secrets of its configuration. */
  stderrTail(server: string): string;
  /**
   * Replaces the configured servers by `servers`. Servers with an unchanged configuration are not touched, and running calls on the others
   * may finish. Servers from {@link spawn} stay unless their name is taken. Rejects with `bad_config`, before anything has changed.
   */
  apply(servers: Record<string, McpServerConfig>): Promise<ServerChanges>;
  /** Adds a server besides the configuration. Rejects with `SignalboxError` `spawn_refused` or `bad_config`. */
  spawn(name: string, config: McpServerConfig): Promise<void>;
  /** Starts a server that was stopped or is idle, and waits until it is up or has failed to start. Rejects with `server_not_found`. */
  start(name: string): Promise<ServerStatus>;
  /** Ends a server's processes; it stays down until it is started or reloaded. Rejects with `server_not_found`. */
  stop(name: string): Promise<ServerStatus>;
  /**
   * Replaces a server's instances, and forgets its ejection, failures and cached answers. Rejects with
   * `server_not_found`.
   */
  reload(name: string): Promise<ServerStatus>;
  /** Lists the tools of every server, and starts servers that have not been needed yet. An unreachable server is listed with its error. */
  discover(): Promise<DiscoveredServer[]>;
  /** Ends every server, and resolves when their processes have exited. Running calls end as failures. */
  close(): Promise<void>;
}
