import { setTimeout as delay } from 'node:timers/promises';
import type { Implementation } from '@modelcontextprotocol/client';
import { messageOf, SignalboxError, toolCallError } from '@signalbox/protocol';
import PQueue from 'p-queue';
import type { McpServerConfig } from './config.ts';
import { unreachable } from './failure-report.ts';
import { type HostEvent, HostedServer, type ServerStatus } from './hosted-server.ts';
import { buildInventory, type Inventory, type InventoryBuild, type ToolRoute } from './inventory.ts';
import { type CallOptions, type CallOutcome, callTool } from './tool-call.ts';
import { defaultToolNameMax, mayBelongTo, serversAlike, smallestToolNameMax } from './tool-name.ts';
import { defaultTuning, type HostTuning } from './tuning.ts';

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
  call(name: string, args: Record<string, unknown>, options: CallOptions): Promise<CallOutcome>;
  /** Where a call by that name would go now. */
  route(name: string): ToolRoute | undefined;
  servers(): ServerStatus[];
  /** The last 64 KiB a server's process wrote to its standard error, without the secrets of its configuration. */
  stderrTail(server: string): string;
  /** Ends every server and resolves when their processes have exited. Calls under way end as failures. */
  close(): Promise<void>;
}

/**
 * Starts every server, all at once, and returns before they are up. Throws `SignalboxError` `bad_config` for a
 * configuration that can't work.
 */
export function startMcpHost(options: McpHostOptions): McpHost {
  checkOptions(options);
  return new RunningHost(options);
}

class RunningHost implements McpHost {
  readonly #servers: ReadonlyMap<string, HostedServer>;
  readonly #naming: { alike: ReadonlySet<string>; max: number };
  readonly #now: () => number;
  readonly #log: (event: HostEvent) => void;
  readonly #listeners = new Set<(inventory: Inventory) => void>();
  readonly #stop = new AbortController();
  readonly #warmUp: Promise<void>;
  #warm = false;
  #build: InventoryBuild;
  #closing: Promise<void> | undefined;

  constructor(options: McpHostOptions) {
    this.#now = options.now ?? (() => performance.now());
    this.#log = options.log ?? (() => {});
    const names = Object.keys(options.servers);
    this.#naming = { alike: serversAlike(names), max: options.toolNameMax ?? defaultToolNameMax };
    const tuning = { ...defaultTuning, ...options.tuning };
    const around = {
      tuning,
      clientInfo: options.clientInfo ?? { name: 'signalbox', version: '0.1.0' },
      now: this.#now,
      random: options.random ?? Math.random,
      starts: new PQueue({ concurrency: tuning.concurrentStarts }),
      log: this.#log,
      onListChanged: () => this.#rebuild(),
    };
    this.#servers = new Map(
      Object.entries(options.servers).map(([name, config]) => [name, new HostedServer(name, config, around)]),
    );
    this.#build = this.#assemble();
    for (const server of this.#servers.values()) server.start();
    this.#warmUp = this.#waitForFirstStarts(tuning.firstInventoryMs);
  }

  async inventory(): Promise<Inventory> {
    await this.#warmUp;
    return this.#build.inventory;
  }

  onInventoryChanged(listener: (inventory: Inventory) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async call(name: string, args: Record<string, unknown>, options: CallOptions): Promise<CallOutcome> {
    const deadline = this.#now() + options.timeoutMs;
    let route = this.route(name);
    if (!route) {
      const server = this.#unlistedServerOf(name);
      await server?.connection(options.timeoutMs, options.signal);
      route = this.route(name);
      if (!route) return { error: missing(name, server) };
    }
    const server = this.#servers.get(route.server)!;
    return callTool(server, route.tool, args, {
      ...options,
      timeoutMs: deadline - this.#now(),
      now: this.#now,
    });
  }

  route(name: string): ToolRoute | undefined {
    return this.#build.routes.get(name);
  }

  servers(): ServerStatus[] {
    return [...this.#servers.values()].map((server) => server.status());
  }

  stderrTail(server: string): string {
    return this.#servers.get(server)?.stderrTail() ?? '';
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
    this.#listeners.clear();
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }

  async #waitForFirstStarts(boundMs: number): Promise<void> {
    const late = new AbortController();
    const bound = delay(boundMs, undefined, { signal: AbortSignal.any([late.signal, this.#stop.signal]) });
    const started = Promise.all([...this.#servers.values()].map((server) => server.firstAttempt));
    await Promise.race([started, bound.catch(() => {})]);
    late.abort();
    this.#rebuild();
    this.#warm = true;
  }

  /** Reads every server's list as it is now, in one go: there is no older build that could finish later. */
  #assemble(): InventoryBuild {
    const lists = [...this.#servers].map(([name, server]) => [name, server.list] as const);
    return buildInventory(new Map(lists), this.#naming);
  }

  #rebuild(): void {
    const before = this.#build.inventory.version;
    this.#build = this.#assemble();
    const { inventory } = this.#build;
    if (!this.#warm || inventory.version === before) return;
    this.#log({ event: 'inventory_changed', version: inventory.version, tools: inventory.tools.length });
    for (const listener of [...this.#listeners]) {
      try {
        listener(inventory);
      } catch (error) {
        this.#log({ event: 'listener_failed', message: messageOf(error) });
      }
    }
  }

  /** A name that no list has may belong to a server that has not listed yet, which is no reason to deny the tool. */
  #unlistedServerOf(name: string): HostedServer | undefined {
    return [...this.#servers.values()].find((server) => !server.hasListed && mayBelongTo(server.name, name));
  }
}

function missing(name: string, server: HostedServer | undefined) {
  if (server && !server.hasListed)
    return unreachable(server.name, server.lastError ?? 'it has not started yet');
  return toolCallError('tool_not_found', `no tool is named '${name.slice(0, 128)}'`, { mayHaveRun: false });
}

function checkOptions({ servers, toolNameMax = defaultToolNameMax }: McpHostOptions): void {
  if (toolNameMax < smallestToolNameMax) {
    throw new SignalboxError('bad_config', `toolNameMax must be at least ${smallestToolNameMax}`);
  }
  for (const [name, config] of Object.entries(servers)) {
    if (name === '') throw new SignalboxError('bad_config', 'a server needs a name');
    if (config.type === 'http' && !/^https?:$/.test(URL.parse(config.url)?.protocol ?? '')) {
      throw new SignalboxError('bad_config', `server '${name}': its url is not an http or https URL`);
    }
  }
}
