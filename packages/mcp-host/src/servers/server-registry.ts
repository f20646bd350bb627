import { isDeepStrictEqual } from 'node:util';
import type { McpServerConfig } from '../config/server-config.ts';
import type { ServerChanges } from '../host/host-api.ts';
import { serversAlike } from '../inventory/tool-name.ts';
import { HostedServer, type HostedServerDeps } from './hosted-server.ts';

/** Which servers there are: those of the configuration, in its order, and those that were added at runtime. */
export class ServerRegistry {
  readonly #deps: HostedServerDeps;
  readonly #spawned = new Set<string>();
  readonly #leaving = new Set<HostedServer>();
  #servers: ReadonlyMap<string, HostedServer> = new Map();
  #alike: ReadonlySet<string> = new Set();

  constructor(deps: HostedServerDeps) {
    this.#deps = deps;
  }

  get servers(): ReadonlyMap<string, HostedServer> {
    return this.#servers;
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
    begun: HostedServer[];
  } {
    const before = this.#servers;
    const after = new Map<string, HostedServer>();
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
        this.#retire(old);
      }
    }
    this.#replaceAll(after);
    return { changes, begun: [...changes.added, ...changes.changed].map((name) => after.get(name)!) };
  }

  /** Adds a server besides the configuration, in place of a stopped one of that name. */
  spawn(name: string, config: McpServerConfig): HostedServer {
    const after = new Map(this.#servers);
    const server = this.#replacement(name, config, after.get(name));
    this.#spawned.add(name);
    this.#replaceAll(after.set(name, server));
    return server;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#servers.values(), ...this.#leaving].map((server) => server.close()));
  }

  #replacement(name: string, config: McpServerConfig, old: HostedServer | undefined): HostedServer {
    if (old) this.#retire(old);
    const known = old?.isKnown ? { tools: old.offer.tools, problems: [] } : undefined;
    return new HostedServer(name, config, this.#deps, known);
  }

  #retire(server: HostedServer): void {
    this.#leaving.add(server);
    server.retire().finally(() => this.#leaving.delete(server));
  }

  #replaceAll(servers: ReadonlyMap<string, HostedServer>): void {
    this.#servers = servers;
    this.#alike = serversAlike([...servers.keys()]);
  }
}
