import { setTimeout as delay } from 'node:timers/promises';
import { SignalboxError, toolCallError } from '@signalbox/protocol';
import type { CallOptions, ToolCallResult } from '../calls/tool-call.ts';
import type { ToolProvider } from '../calls/tool-provider.ts';
import { checkServers } from '../config/check-servers.ts';
import { defaultTuning, type HostTuning } from '../config/host-tuning.ts';
import type { McpServerConfig } from '../config/server-config.ts';
import { unreachable } from '../failures/call-errors.ts';
import {
  buildInventory,
  type Inventory,
  type InventoryBuild,
  type ToolRoute,
} from '../inventory/inventory.ts';
import { defaultToolNameMax, mayBelongTo } from '../inventory/tool-name.ts';
import type { HostedServer } from '../servers/hosted-server.ts';
import { serverNamed } from '../servers/server-lookup.ts';
import { ServerRegistry } from '../servers/server-registry.ts';
import type { DiscoveredServer, McpHost, McpHostOptions, ServerChanges, ServerStatus } from './host-api.ts';
import { checkOptions, hostDeps } from './host-deps.ts';
import { InventoryTracker } from './inventory-tracker.ts';

/**
 * Starts every server that is not lazy, all at once, and returns before they are up. Throws `SignalboxError` `bad_config`
 * for a configuration that can't work.
 */
export function startMcpHost(options: McpHostOptions): McpHost {
  checkOptions(options);
  return new RunningHost(options);
}

class RunningHost implements McpHost {
  readonly #registry: ServerRegistry;
  readonly #inventory: InventoryTracker;
  readonly #providers: ReadonlyMap<string, ToolProvider>;
  readonly #tuning: HostTuning;
  readonly #now: () => number;
  readonly #guard: McpHostOptions['guard'];
  readonly #stop = new AbortController();
  readonly #warmUp: Promise<void>;
  readonly #forget: (() => void)[];
  #closing: Promise<void> | undefined;

  constructor(options: McpHostOptions) {
    const { toolNameMax = defaultToolNameMax, providers = [], log = () => {} } = options;
    this.#now = options.now ?? (() => performance.now());
    this.#guard = options.guard;
    this.#tuning = { ...defaultTuning, ...options.tuning };
    this.#providers = new Map(providers.map((provider) => [provider.name, provider]));
    const deps = hostDeps(options, this.#tuning, this.#now, () => this.#inventory.rebuild());
    this.#registry = new ServerRegistry(deps);
    const { begun } = this.#registry.apply(options.servers);
    this.#inventory = new InventoryTracker(() => this.#assemble(toolNameMax), log);
    this.#forget = providers.map((provider) => provider.onChanged(() => this.#inventory.rebuild()));
    this.#warmUp = this.#begin(begun).then(() => this.#inventory.warm());
  }

  async inventory(): Promise<Inventory> {
    await this.#warmUp;
    return this.#inventory.inventory;
  }

  onInventoryChanged(listener: (inventory: Inventory) => void): () => void {
    return this.#inventory.onChanged(listener);
  }

  async call(name: string, args: Record<string, unknown>, options: CallOptions): Promise<ToolCallResult> {
    const deadline = this.#now() + options.timeoutMs;
    for (let rest = options; ; rest = { ...options, timeoutMs: deadline - this.#now() }) {
      const known = this.route(name);
      const route = known ?? (await this.#lateRoute(name, deadline, options.signal));
      if ('error' in route) return route;
      if (!known) rest = { ...options, timeoutMs: deadline - this.#now() };
      const provider = this.#inventory.isProvided(name) ? this.#providers.get(route.server) : undefined;
      if (provider) return provider.call(name, args, rest);
      const server = this.#registry.servers.get(route.server)!;
      const outcome = await server.call(route.tool, args, rest);
      if (!this.#goesElsewhere(outcome, server)) return outcome;
    }
  }

  route(name: string): ToolRoute | undefined {
    return this.#inventory.route(name);
  }

  servers(): ServerStatus[] {
    return [...this.#registry.servers.values()].map((server) => server.status());
  }

  stderrTail(server: string): string {
    return this.#registry.servers.get(server)?.stderrTail() ?? '';
  }

  async apply(servers: Record<string, McpServerConfig>): Promise<ServerChanges> {
    checkServers(servers);
    this.#refuseIfClosed();
    const { changes, begun } = this.#registry.apply(servers);
    this.#inventory.rebuild();
    await this.#begin(begun);
    return changes;
  }

  async spawn(name: string, config: McpServerConfig): Promise<void> {
    checkServers({ [name]: config });
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
    const hosted = [...this.#registry.servers.values()];
    const errors = await Promise.all(hosted.map((server) => server.discover()));
    const named = this.#inventory.bySource();
    const offers = hosted.map((server, i) => ({ server: server.name, error: errors[i] }));
    const providers = [...this.#providers.keys()].map((server) => ({ server, error: undefined }));
    return [...offers, ...providers].map(({ server, error }) => ({
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
    for (const forget of this.#forget) forget();
    this.#inventory.close();
    await this.#registry.close();
  }

  #refuseIfClosed(): void {
    if (this.#stop.signal.aborted) throw new SignalboxError('closed', 'the tool host is shut down');
  }

  async #operate(name: string, work: (server: HostedServer) => Promise<void>): Promise<ServerStatus> {
    const server = serverNamed(this.#registry.servers, name);
    this.#refuseIfClosed();
    await work(server);
    return server.status();
  }

  /** Waits for the first attempts of these servers, but not for ever. */
  async #begin(servers: readonly HostedServer[]): Promise<void> {
    const enough = new AbortController();
    const signal = AbortSignal.any([enough.signal, this.#stop.signal]);
    const bound = delay(this.#tuning.firstInventoryMs, undefined, { signal }).catch(() => {});
    await Promise.race([
      Promise.all(servers.map((server) => server.begin().then(() => server.slotFound()))),
      bound,
    ]);
    enough.abort();
  }

  #assemble(max: number): InventoryBuild {
    const { servers: hosted, alike } = this.#registry;
    const servers = [...hosted.values()].map(({ name, config, offer }) => ({
      name,
      isHidden: config.toolDiscovery === false,
      ...(config.prefix === false && { prefix: false }),
      ...offer,
    }));
    const providers = [...this.#providers.values()].map((provider) => ({
      name: provider.name,
      tools: [...provider.tools()],
      problems: [...provider.problems()],
    }));
    return buildInventory(servers, providers, { alike, max });
  }

  /** A name that no list has may belong to a server that has not listed yet, which is no reason to deny the tool. */
  async #lateRoute(name: string, deadline: number, signal: AbortSignal) {
    for (;;) {
      const server = [...this.#registry.servers.values()].find(
        (one) => !one.isKnown && mayBelongTo(one.name, name, one.config.prefix),
      );
      await server?.known(deadline - this.#now(), signal);
      const route = this.route(name);
      if (route) return route;
      if (!server || this.#registry.servers.get(server.name) === server)
        return { error: missing(name, server) };
    }
  }

  /** Whether the call was not sent because its server was replaced meanwhile. */
  #goesElsewhere(outcome: ToolCallResult, server: HostedServer): boolean {
    const isUnsent =
      'error' in outcome && outcome.error.code === 'mcp_server_unreachable' && !outcome.error.may_have_run;
    return isUnsent && this.#registry.servers.get(server.name) !== server;
  }
}

function missing(name: string, server: HostedServer | undefined) {
  if (server && !server.isKnown)
    return server.refusal ?? unreachable(server.name, server.status().lastError ?? 'it has not started yet');
  return toolCallError('tool_not_found', `no tool is named '${name.slice(0, 128)}'`, { mayHaveRun: false });
}
