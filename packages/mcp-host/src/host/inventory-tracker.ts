import { messageOf, type Tool } from '@signalbox/protocol';
import type { HostEvent } from '../host-event.ts';
import type {
  Inventory,
  InventoryBuild,
  InventoryProblem,
  RouteTarget,
  WithheldDefinition,
} from '../inventory/inventory.ts';

/** A tool of which the host does not honour some of the hints that its server declares. */
export interface WithheldHints {
  server: string;
  /** The name of the tool in the inventory. */
  tool: string;
  hints: readonly string[];
}

/** Keeps the present inventory, and passes each new one to its listeners. */
export class InventoryTracker {
  readonly #buildNow: () => InventoryBuild;
  readonly #log: (event: HostEvent) => void;
  readonly #listeners = new Set<(inventory: Inventory) => void>();
  readonly #withheldListeners = new Set<(withheld: WithheldHints[]) => void>();
  readonly #definitionListeners = new Set<(withheld: WithheldDefinition[]) => void>();
  #withheld = new Map<string, WithheldHints>();
  #withheldDefinitions = new Map<string, WithheldDefinition>();
  #build: InventoryBuild;
  #isWarm = false;

  /** Begins with an empty inventory. `buildNow` reads all sources synchronously, so an older build never replaces a newer one. */
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
    for (const [as, { server, tool, change }] of this.#build.targets) {
      if (change) continue;
      const tools = found.get(server) ?? [];
      tools.push({ ...tool, as });
      found.set(server, tools);
    }
    return found;
  }

  /** Returns the names of tools and prompts in this host, by the JSON of their kind, their server and their names there. */
  namesBySource(): Map<string, string> {
    const names = new Map<string, string>();
    for (const [as, { server, tool }] of this.#build.targets)
      names.set(JSON.stringify(['tool', server, tool.name]), as);
    for (const { server, own, prompt } of this.#build.inventory.mcpContent.prompts)
      names.set(JSON.stringify(['prompt', server, own]), prompt.name);
    return names;
  }

  /** Calls `listener` with each inventory whose version differs from the one before. Returns a function that removes the listener. */
  onChanged(listener: (inventory: Inventory) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Calls `listener` with the hints that are withheld now, if there are any, and with those of each later inventory that were not withheld
   * before. Returns a function that removes the listener.
   */
  onHintsWithheld(listener: (withheld: WithheldHints[]) => void): () => void {
    this.#withheldListeners.add(listener);
    if (this.#withheld.size > 0) listener([...this.#withheld.values()]);
    return () => this.#withheldListeners.delete(listener);
  }

  /** Does what {@link onHintsWithheld} does, for definitions of pinned servers. */
  onDefinitionsWithheld(listener: (withheld: WithheldDefinition[]) => void): () => void {
    this.#definitionListeners.add(listener);
    if (this.#withheldDefinitions.size > 0) listener([...this.#withheldDefinitions.values()]);
    return () => this.#definitionListeners.delete(listener);
  }

  /** Begins to tell the listeners of changes. */
  warm(): void {
    this.rebuild();
    this.#isWarm = true;
  }

  /** Builds the inventory again, because a source may have changed. */
  rebuild(): void {
    const before = this.#build.inventory;
    this.#build = this.#buildNow();
    const { inventory } = this.#build;
    this.#compareWithheld();
    this.#compareDefinitions();
    if (!this.#isWarm) return;
    this.#logToolProblems(before.problems, inventory.problems);
    if (inventory.version === before.version) return;
    this.#log({ event: 'inventory_changed', version: inventory.version, tools: inventory.tools.length });
    for (const listener of [...this.#listeners]) {
      try {
        listener(inventory);
      } catch (error) {
        this.#log({ event: 'listener_failed', message: messageOf(error) });
      }
    }
  }

  #compareWithheld(): void {
    const before = this.#withheld;
    this.#withheld = new Map();
    const added: WithheldHints[] = [];
    for (const [tool, { server, withheld: hints }] of this.#build.targets) {
      if (!hints) continue;
      const withheld = { server, tool, hints };
      const key = JSON.stringify([server, tool, hints]);
      this.#withheld.set(key, withheld);
      if (!before.has(key)) added.push(withheld);
    }
    if (added.length > 0) for (const listener of [...this.#withheldListeners]) listener(added);
  }

  #compareDefinitions(): void {
    const before = this.#withheldDefinitions;
    this.#withheldDefinitions = new Map(this.#build.withheld.map((one) => [JSON.stringify(one), one]));
    const added = [...this.#withheldDefinitions].filter(([key]) => !before.has(key)).map(([, one]) => one);
    if (added.length > 0) for (const listener of [...this.#definitionListeners]) listener(added);
  }

  /** Logs the new problems of single tools. Those of the first inventory are read there. */
  #logToolProblems(before: readonly InventoryProblem[], now: readonly InventoryProblem[]): void {
    const keyOf = ({ server, tool, message }: InventoryProblem) => JSON.stringify([server, tool, message]);
    const known = new Set(before.map(keyOf));
    for (const problem of now) {
      const { server, tool, message } = problem;
      if (tool === undefined || known.has(keyOf(problem))) continue;
      this.#log({ event: 'tool_problem', server, tool, reason: message });
    }
  }

  /** Forgets its listeners. */
  close(): void {
    this.#listeners.clear();
    this.#withheldListeners.clear();
    this.#definitionListeners.clear();
  }
}

/**
 * Leads from a name of the inventory to its server and tool. The name is looked up once, and again only when the inventory has changed, so
 * a route that was kept while its call waited is never out of date.
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
