import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import {
  type CancelSignal,
  isRunningCallState,
  type McpContentMethod,
  SignalboxError,
  type Tool,
  type ToolCallError,
  toolCallError,
} from '@signalbox/protocol';
import type { DefinitionKey } from '@signalbox/store/journal';
import { ArgumentChecks } from '../calls/argument-checks.ts';
import { isUnsent, methodTool } from '../calls/tool-call.ts';
import { checkServers } from '../config/check-servers.ts';
import { defaultTuning, type HostTuning } from '../config/host-tuning.ts';
import type { McpServerConfig } from '../config/server-config.ts';
import { definitionChangedError, redefinedError } from '../definitions/definition-changed.ts';
import type { SeenDefinition } from '../definitions/server-definitions.ts';
import {
  buildInventory,
  type Inventory,
  type InventoryBuild,
  InventoryMemory,
  type RouteTarget,
  type WithheldDefinition,
} from '../inventory/inventory.ts';
import { defaultToolNameMax, mayBelongTo } from '../inventory/tool-name.ts';
import type { WaitingCalls } from '../questions/waiting-calls.ts';
import type { HostedServer } from '../servers/hosted-server.ts';
import type { ListReadings } from '../servers/list-readings.ts';
import { type ServerEvent, ServerEvents } from '../servers/server-events.ts';
import { type ServerChanges, ServerRegistry } from '../servers/server-registry.ts';
import type { ServerStatus } from '../servers/server-status.ts';
import type { NamedSecret } from '../tool-calls/index.ts';
import {
  type CallOptions,
  noWaitingCall,
  type ToolCallResult,
  type ToolProvider,
  unreachable,
} from '../tool-calls/index.ts';
import type {
  DiscoveredServer,
  FittedArguments,
  HostCallOptions,
  HostedDefinition,
  McpHost,
  McpHostOptions,
  MissingServer,
  ServerContent,
} from './host-api.ts';
import { checkOptions, serverDeps } from './host-setup.ts';
import { InventoryTracker, ToolRoute, type WithheldHints } from './inventory-tracker.ts';
import { contentOf, contentOfProvider } from './server-content.ts';

/**
 * Starts every server that is not lazy, all at once, and returns before they are up. Throws `SignalboxError`
 * `bad_config` for a configuration that can't work.
 */
export function startMcpHost(options: McpHostOptions): McpHost {
  checkOptions(options);
  return new RunningHost(options);
}

class RunningHost implements McpHost {
  readonly #registry: ServerRegistry;
  readonly #processesCleared: () => Promise<void>;
  readonly #readings: ListReadings;
  readonly #waiting: WaitingCalls;
  readonly #inventory: InventoryTracker;
  readonly #checks = new ArgumentChecks();
  readonly #memory = new InventoryMemory();
  readonly #events = new ServerEvents();
  readonly #providers: ReadonlyMap<string, ToolProvider>;
  readonly #tuning: HostTuning;
  readonly #now: () => number;
  readonly #log: NonNullable<McpHostOptions['log']>;
  readonly #guard: McpHostOptions['guard'];
  readonly #stores: { hasStateDir: boolean; hasPins: boolean };
  readonly #onFirstStart: McpHostOptions['onFirstStart'];
  readonly #stop = new AbortController();
  readonly #warmUp: Promise<void>;
  readonly #unsubscribe: (() => void)[];
  #closing: Promise<void> | undefined;

  constructor(options: McpHostOptions) {
    const { toolNameMax = defaultToolNameMax, providers = [], log = () => {} } = options;
    this.#now = options.now ?? (() => performance.now());
    this.#log = log;
    this.#guard = options.guard;
    this.#stores = { hasStateDir: options.stateDir !== undefined, hasPins: options.pins !== undefined };
    this.#onFirstStart = options.onFirstStart;
    this.#tuning = { ...defaultTuning, ...options.tuning };
    this.#providers = new Map(providers.map((provider) => [provider.name, provider]));
    const rebuild = () => this.#inventory.rebuild();
    const tell = (event: ServerEvent) => this.#events.tell(event);
    const deps = serverDeps(options, this.#tuning, this.#now, rebuild, tell);
    this.#readings = deps.readings;
    this.#waiting = deps.waiting;
    this.#processesCleared = deps.processesCleared;
    this.#registry = new ServerRegistry(deps);
    const { added } = this.#registry.apply(options.servers);
    this.#inventory = new InventoryTracker(() => this.#buildInventory(toolNameMax), log);
    this.#unsubscribe = providers.map((provider) => provider.onChanged(rebuild));
    this.#warmUp = this.#begin(added).then(() => this.#inventory.warm());
  }

  async inventory(): Promise<Inventory> {
    await this.#warmUp;
    return this.#inventory.inventory;
  }

  listsRead(mostMs: number): Promise<void> {
    return this.#readings.over(mostMs);
  }

  presentInventory(): Inventory {
    return this.#inventory.inventory;
  }

  onInventoryChanged(listener: (inventory: Inventory) => void): () => void {
    return this.#inventory.onChanged(listener);
  }

  onHintsWithheld(listener: (withheld: WithheldHints[]) => void): () => void {
    return this.#inventory.onHintsWithheld(listener);
  }

  onDefinitionsWithheld(listener: (withheld: WithheldDefinition[]) => void): () => void {
    return this.#inventory.onDefinitionsWithheld(listener);
  }

  pinnedServers(): string[] {
    return [...this.#registry.servers.values()].flatMap(({ name, definitions }) => (definitions ? name : []));
  }

  definitions(server?: string): HostedDefinition[] {
    const names = this.#inventory.namesBySource();
    return [...this.#registry.servers.values()].flatMap(({ name, definitions }) => {
      if (!definitions || (server !== undefined && server !== name)) return [];
      return definitions.compared().map((one) => {
        const as = names.get(JSON.stringify([one.kind, name, one.name]));
        return { ...one, server: name, ...(as !== undefined && { as }) };
      });
    });
  }

  async pinnedValue(server: string, key: DefinitionKey): Promise<unknown> {
    return this.#registry.servers.get(server)?.definitions?.pinnedValue(key);
  }

  async acceptDefinitions(
    server: string,
    seen: readonly SeenDefinition[],
    by: string,
  ): Promise<DefinitionKey[]> {
    return await this.#registry.named(server).acceptDefinitions(seen, by);
  }

  onServerEvent(listener: (event: ServerEvent) => void): () => void {
    return this.#events.on(listener);
  }

  route(name: string): ToolRoute {
    return new ToolRoute(name, this.#inventory);
  }

  check({ target }: ToolRoute, args: Record<string, unknown>): ReturnType<McpHost['check']> {
    return target && this.#checked(target, args);
  }

  #checked(
    { tool, server, isProvided }: RouteTarget,
    args: Record<string, unknown>,
  ): FittedArguments | { error: ToolCallError } {
    const provider = isProvided ? this.#providers.get(server) : undefined;
    const checked = provider?.check?.(tool.name, args) ?? this.#checks.check(tool, args);
    if ('error' in checked) return checked;
    const { coerced } = checked;
    if (coerced.length > 0)
      this.#log({ event: 'arguments_coerced', server, tool: tool.name, pointers: coerced });
    return { args: checked.args, fits: tool };
  }

  /** Returns the arguments to send. `unfit` is the reason why they may only continue a call that runs already. */
  #toSend(
    name: string,
    target: RouteTarget,
    { args, fits }: { args: Record<string, unknown>; fits: Tool | undefined },
  ): { args: Record<string, unknown>; unfit?: ToolCallError } {
    if (fits === target.tool) return { args };
    const checked = this.#checked(target, args);
    if ('error' in checked) return { args, unfit: checked.error };
    const isRewritten = fits !== undefined && !isDeepStrictEqual(checked.args, args);
    return isRewritten ? { args, unfit: redefinedError(name) } : { args: checked.args };
  }

  async call(
    called: string | ToolRoute,
    args: Record<string, unknown>,
    { fits, ...options }: HostCallOptions,
  ): Promise<ToolCallResult> {
    const route = typeof called === 'string' ? this.route(called) : called;
    const deadline = this.#now() + options.timeoutMs;
    for (;;) {
      const { target } = route;
      if (!target) {
        const error = await this.#waitForTool(route, deadline, options.signal);
        if (error) return { error };
        continue;
      }
      const { tool, change } = target;
      const state = options.round?.requestState;
      // A running call ends as it began.
      if (change && !this.waitsFor(state, options.caller?.agent))
        return { error: definitionChangedError('tool', route.name, target.server, change) };
      const { args: fitted, unfit } = this.#toSend(route.name, target, { args, fits });
      if (target.isProvided) {
        // A provider never asks its caller, so the state belongs to another call.
        if (isRunningCallState(state)) return { error: noWaitingCall(tool) };
        if (unfit) return { error: unfit };
        const rest = { ...options, timeoutMs: deadline - this.#now() };
        return this.#providers.get(target.server)!.call(tool.name, fitted, rest);
      }
      const server = this.#registry.servers.get(target.server)!;
      const ended = await server.call({ tool, args: fitted, unfit, options, deadline });
      // A call that was not sent because its server was replaced meanwhile is sent to the new server.
      const isMoved = 'error' in ended && isUnsent(ended) && !this.#registry.has(server);
      if (!isMoved) return ended;
    }
  }

  async listed(
    route: ToolRoute,
    { timeoutMs, signal }: { timeoutMs: number; signal: CancelSignal },
  ): Promise<void> {
    const deadline = this.#now() + timeoutMs;
    while (!route.target && !(await this.#waitForTool(route, deadline, signal)));
  }

  waitsFor(state: string | undefined, agent: string | undefined): boolean {
    return state !== undefined && this.#waiting.find(state)?.agent === agent;
  }

  stopWaiting(state: string | undefined, agent: string): void {
    if (state !== undefined && this.waitsFor(state, agent))
      this.#waiting.find(state)?.stop('the call was cancelled');
  }

  async request(
    server: string,
    { method, params }: { method: McpContentMethod; params: Record<string, unknown> },
    options: CallOptions,
  ): Promise<ToolCallResult> {
    const deadline = this.#now() + options.timeoutMs;
    const call = { tool: methodTool(method), method, args: params, options, deadline };
    for (;;) {
      const hosted = this.#registry.servers.get(server);
      if (!hosted) return { error: unreachable(server, 'it is not configured any more') };
      const ended = await hosted.call(call);
      const isMoved = 'error' in ended && isUnsent(ended) && !this.#registry.has(hosted);
      if (!isMoved) return ended;
    }
  }

  follow(
    { server, uri }: { server: string; uri: string },
    caller: CallOptions['caller'],
    onUpdated: () => void,
  ): (() => void) | undefined {
    return this.#registry.servers.get(server)?.follow(caller, uri, onUpdated);
  }

  servers(): ServerStatus[] {
    return [...this.#registry.servers.values()].map((server) => server.status());
  }

  contents(): ServerContent[] {
    const digests = this.#memory.digests;
    return [
      ...Array.from(this.#registry.servers.values(), (server) => contentOf(server, digests)),
      ...Array.from(this.#providers.values(), (provider) => contentOfProvider(provider, digests)),
    ];
  }

  nameOf(server: string, tool: string): string | undefined {
    return this.#inventory.namesBySource().get(JSON.stringify(['tool', server, tool]));
  }

  labelOf(server: string): string | undefined {
    const config = this.#registry.servers.get(server)?.config;
    return config?.type === 'remote' ? config.label : undefined;
  }

  missing(): MissingServer[] {
    return [...this.#registry.servers.values()].flatMap(({ name: server, config, gap }) =>
      gap && config.toolDiscovery !== false ? [{ server, prefix: config.prefix !== false, ...gap }] : [],
    );
  }

  secrets(): NamedSecret[] {
    const sources = [...this.#registry.servers.values(), ...this.#providers.values()];
    return sources.flatMap((source) => source.secrets());
  }

  stderrTail(server: string): string {
    return this.#registry.servers.get(server)?.stderrTail() ?? '';
  }

  async apply(servers: Record<string, McpServerConfig>): Promise<ServerChanges> {
    checkServers(servers, this.#stores);
    this.#refuseIfClosed();
    const { changes, added } = this.#registry.apply(servers);
    for (const change of ['added', 'removed', 'changed'] as const)
      for (const server of changes[change]) this.#events.tell({ server, change });
    this.#inventory.rebuild();
    await this.#begin(added);
    return changes;
  }

  async spawn(name: string, config: McpServerConfig): Promise<void> {
    checkServers({ [name]: config }, this.#stores);
    this.#refuseIfClosed();
    const present = this.#registry.servers.get(name);
    if (present && !(this.#registry.isSpawned(name) && present.state === 'stopped')) {
      throw new SignalboxError('bad_config', `there is a server '${name}' already; choose another name`);
    }
    const refusal = this.#guard?.(name, config);
    if (refusal !== undefined) {
      throw new SignalboxError('spawn_refused', `server '${name}' was not started: ${refusal}`);
    }
    const server = this.#registry.spawn(name, config);
    this.#events.tell({ server: name, change: 'added' });
    this.#inventory.rebuild();
    await this.#begin([server]);
  }

  start(name: string): Promise<ServerStatus> {
    return this.#operate(name, (server) => server.start());
  }

  stop(name: string): Promise<ServerStatus> {
    return this.#operate(name, (server) => server.stop());
  }

  reload(name: string): Promise<ServerStatus> {
    return this.#operate(name, (server) => server.reload());
  }

  async discover(): Promise<DiscoveredServer[]> {
    const servers = [...this.#registry.servers.values()];
    const errors = await Promise.all(servers.map((server) => server.discover()));
    const named = this.#inventory.toolsBySource();
    const found = servers.map(({ name }, i) => ({ server: name, error: errors[i] }));
    const provided = [...this.#providers.keys()].map((server) => ({ server, error: undefined }));
    return [...found, ...provided].map(({ server, error }) => ({
      server,
      tools: named.get(server) ?? [],
      ...(error !== undefined && { error }),
    }));
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #shutDown(): Promise<void> {
    this.#stop.abort();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#inventory.close();
    this.#waiting.close();
    await this.#registry.close();
    await this.#processesCleared();
  }

  #refuseIfClosed(): void {
    if (this.#stop.signal.aborted) throw new SignalboxError('closed', 'the tool host is shut down');
  }

  async #operate(name: string, work: (server: HostedServer) => Promise<void>): Promise<ServerStatus> {
    const server = this.#registry.named(name);
    this.#refuseIfClosed();
    await work(server);
    return server.status();
  }

  /** Starts servers and waits for their first attempts, but only for a bounded time. */
  async #begin(servers: readonly HostedServer[]): Promise<void> {
    const begun = new AbortController();
    const signal = AbortSignal.any([begun.signal, this.#stop.signal]);
    await Promise.race([
      Promise.all(servers.map((server) => this.#firstStart(server))),
      delay(this.#tuning.firstInventoryMs, undefined, { signal }).catch(() => {}),
    ]);
    begun.abort();
  }

  async #firstStart(server: HostedServer): Promise<void> {
    await server.begin();
    await server.slotFound();
    const isPresent = this.#registry.has(server) && !this.#stop.signal.aborted;
    if (isPresent && server.state !== 'disabled') this.#onFirstStart?.(server.status(), server.stderrTail());
  }

  #buildInventory(max: number): InventoryBuild {
    const { servers, alike } = this.#registry;
    const hosted = [...servers.values()].map(
      ({ name, config, tools, mcpContent, isMcpContentTold, definitions }) => ({
        name,
        isHidden: config.toolDiscovery === false,
        ...(definitions && { arePinned: true }),
        ...(config.prefix === false && { prefix: false }),
        ...(config.disabled && { isDisabled: true }),
        ...(!isMcpContentTold && { isMcpContentUntold: true }),
        mcpContent,
        ...tools,
      }),
    );
    const provided = [...this.#providers.values()].map((provider) => ({
      name: provider.name,
      tools: [...provider.tools()],
      problems: [...provider.problems()],
    }));
    return buildInventory(hosted, provided, { alike, max }, this.#memory);
  }

  /**
   * Waits for the server that a name without a tool may belong to, if that server has not listed its tools yet. Resolves with an error if
   * the name still has no tool.
   */
  async #waitForTool(
    route: ToolRoute,
    deadline: number,
    signal: CancelSignal,
  ): Promise<ToolCallError | undefined> {
    const server = [...this.#registry.servers.values()].find(
      ({ name, config, isKnown }) => !isKnown && mayBelongTo(name, route.name, config.prefix),
    );
    await server?.known(deadline - this.#now(), signal);
    const wasReplaced = server !== undefined && !this.#registry.has(server);
    return route.target || wasReplaced ? undefined : missingTool(route.name, server);
  }
}

function missingTool(name: string, server: HostedServer | undefined): ToolCallError {
  if (server && !server.isKnown) return server.unlistedError;
  return toolCallError('tool_not_found', `no tool is named '${name.slice(0, 128)}'`, { mayHaveRun: false });
}
