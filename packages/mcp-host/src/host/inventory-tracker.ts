import { messageOf, type Tool } from '@signalbox/protocol';
import type { Inventory, InventoryBuild, ToolRoute } from '../inventory/inventory.ts';
import type { HostEvent } from './host-api.ts';

/** The present inventory, and who wants to know of the next. */
export class InventoryTracker {
  readonly #assemble: () => InventoryBuild;
  readonly #log: (event: HostEvent) => void;
  readonly #listeners = new Set<(inventory: Inventory) => void>();
  #build: InventoryBuild;
  #isWarm = false;

  /** `assemble` reads every source as it is now, in one go: there is no older build that could finish later. */
  constructor(assemble: () => InventoryBuild, log: (event: HostEvent) => void) {
    this.#assemble = assemble;
    this.#log = log;
    this.#build = assemble();
  }

  get inventory(): Inventory {
    return this.#build.inventory;
  }

  route(name: string): ToolRoute | undefined {
    return this.#build.routes.get(name) ?? this.#build.provided.get(name);
  }

  /** Whether a name leads to a provider. */
  isProvided(name: string): boolean {
    return this.#build.provided.has(name);
  }

  /** Every tool that can be called, as its source describes it, with the name it is called by. */
  bySource(): Map<string, (Tool & { as: string })[]> {
    const found = new Map<string, (Tool & { as: string })[]>();
    for (const [as, { server, tool }] of [...this.#build.routes, ...this.#build.provided]) {
      const tools = found.get(server) ?? [];
      tools.push({ ...tool, as });
      found.set(server, tools);
    }
    return found;
  }

  onChanged(listener: (inventory: Inventory) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** From now on changes are told. */
  warm(): void {
    this.rebuild();
    this.#isWarm = true;
  }

  rebuild(): void {
    const before = this.#build.inventory.version;
    this.#build = this.#assemble();
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

  close(): void {
    this.#listeners.clear();
  }
}
