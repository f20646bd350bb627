import { isDeepStrictEqual } from 'node:util';
import type { McpServerConfig } from '../config.ts';
import type { ServerChanges } from '../host-api.ts';
import { serversAlike } from '../inventory/tool-name.ts';
import { type GroupSurroundings, ServerGroup } from './server-group.ts';

/** Which servers there are: those of the configuration, in its order, and those that were added at runtime. */
export class ServerRegistry {
  readonly #around: GroupSurroundings;
  readonly #spawned = new Set<string>();
  readonly #leaving = new Set<ServerGroup>();
  #groups: ReadonlyMap<string, ServerGroup> = new Map();
  #alike: ReadonlySet<string> = new Set();

  constructor(around: GroupSurroundings) {
    this.#around = around;
  }

  get groups(): ReadonlyMap<string, ServerGroup> {
    return this.#groups;
  }

  /** Those whose names sanitise alike. */
  get alike(): ReadonlySet<string> {
    return this.#alike;
  }

  isSpawned(name: string): boolean {
    return this.#spawned.has(name);
  }

  /** Makes the configured servers what this says. `begun`: the new ones, which have to be begun. */
  apply(servers: Readonly<Record<string, McpServerConfig>>): {
    changes: ServerChanges;
    begun: ServerGroup[];
  } {
    const before = this.#groups;
    const after = new Map<string, ServerGroup>();
    const changes: ServerChanges = { added: [], removed: [], changed: [] };
    for (const [name, config] of Object.entries(servers)) {
      const old = before.get(name);
      if (old && isDeepStrictEqual(old.config, config)) after.set(name, old);
      else {
        after.set(name, this.#replacement(name, config, old));
        changes[old && !this.#spawned.has(name) ? 'changed' : 'added'].push(name);
      }
      this.#spawned.delete(name);
    }
    for (const [name, old] of before) {
      if (this.#spawned.has(name)) after.set(name, old);
      else if (!after.has(name)) {
        changes.removed.push(name);
        this.#letGo(old);
      }
    }
    this.#become(after);
    return { changes, begun: [...changes.added, ...changes.changed].map((name) => after.get(name)!) };
  }

  /** Adds a server besides the configuration, in place of a stopped one of that name. */
  spawn(name: string, config: McpServerConfig): ServerGroup {
    const after = new Map(this.#groups);
    const group = this.#replacement(name, config, after.get(name));
    this.#spawned.add(name);
    this.#become(after.set(name, group));
    return group;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#groups.values(), ...this.#leaving].map((group) => group.close()));
  }

  #replacement(name: string, config: McpServerConfig, old: ServerGroup | undefined): ServerGroup {
    if (old) this.#letGo(old);
    const known = old?.isKnown ? { tools: old.offer.tools, problems: [] } : undefined;
    return new ServerGroup(name, config, this.#around, known);
  }

  #letGo(group: ServerGroup): void {
    this.#leaving.add(group);
    group.retire().finally(() => this.#leaving.delete(group));
  }

  #become(groups: ReadonlyMap<string, ServerGroup>): void {
    this.#groups = groups;
    this.#alike = serversAlike([...groups.keys()]);
  }
}
