import { messageOf, type Tool } from '@signalbox/protocol';
import type { HostEvent } from '../host-event.ts';
import type { Inventory, InventoryBuild, RouteTarget } from '../inventory/inventory.ts';

/** Keeps the present inventory, and passes each new one to its listeners. */
export class InventoryTracker {
  readonly #buildNow: () => InventoryBuild;
  readonly #log: (event: HostEvent) => void;
  readonly #listeners = new Set<(inventory: Inventory) => void>();
  #build: InventoryBuild;
  #isWarm = false;

  /** `buildNow` reads all sources synchronously, so an older build never replaces a newer one. */
  constructor(buildNow: () => InventoryBuild, log: (event: HostEvent) => void) {
    this.#buildNow = buildNow;
    this.#log = log;
    this.#build = buildNow();
  }

  get inventory(): Inventory {
    return this.#build.inventory;
  }

  /** The targets of the names of the present inventory. */
  get targets(): ReadonlyMap<string, RouteTarget> {
    return this.#build.targets;
  }

  /** Returns every tool that can be called, as its source describes it, with the name it is called by. */
  toolsBySource(): Map<string, (Tool & { as: string })[]> {
    const found = new Map<string, (Tool & { as: string })[]>();
    for (const [as, { server, tool }] of this.#build.targets) {
      const tools = found.get(server) ?? [];
      tools.push({ ...tool, as });
      found.set(server, tools);
    }
    return found;
  }

  /**
   * Calls `listener` with each inventory whose version differs from the one before. Returns the function that
   * unsubscribes it.
   */
  onChanged(listener: (inventory: Inventory) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Begins to tell the listeners of changes. */
  warm(): void {
    this.rebuild();
    this.#isWarm = true;
  }

  /** Builds the inventory again, because a source may have changed. */
  rebuild(): void {
    const before = this.#build.inventory.version;
    this.#build = this.#buildNow();
    const { inventory } = this.#build;
    if (!this.#isWarm || inventory.version === before) return;
    this.#log({ event: 'inventory_changed', version: inventory.version, tools: inventory.tools.length });
    for (const listener of [...this.#listeners]) {
      try {
        listener(inventory);
      } catch (error) {
        this.#log({ event: 'listener_failed', message: messageOf(error) });
      }
    }
  }

  /** Forgets its listeners. */
  close(): void {
    this.#listeners.clear();
  }
}

/**
 * Leads from a name of the inventory to its server and tool. The name is looked up once, and again only when the
 * inventory has changed, so a route that was kept while its call waited is never out of date.
 */
export class ToolRoute {
  readonly name: string;
  readonly #tracker: InventoryTracker;
  #targets: ReadonlyMap<string, RouteTarget>;
  #target: RouteTarget | undefined;

  constructor(name: string, tracker: InventoryTracker) {
    this.name = name;
    this.#tracker = tracker;
    this.#targets = tracker.targets;
    this.#target = this.#targets.get(name);
  }

  /** The server and the tool as the server named it; `undefined` if no tool has the name now. */
  get target(): RouteTarget | undefined {
    const { targets } = this.#tracker;
    if (targets !== this.#targets) {
      this.#targets = targets;
      this.#target = targets.get(this.name);
    }
    return this.#target;
  }

  /** The name of the server, or of the provider, that has the tool. */
  get server(): string | undefined {
    return this.target?.server;
  }
}
