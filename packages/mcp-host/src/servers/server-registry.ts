import { isDeepStrictEqual } from 'node:util';
import { SignalboxError } from '@signalbox/protocol';
import { nearestName } from '@signalbox/protocol/internal';
import type { McpServerConfig } from '../config/server-config.ts';
import { toolSieve } from '../inventory/tool-filter.ts';
import type { ToolList } from '../inventory/tool-list.ts';
import { serversAlike } from '../inventory/tool-name.ts';
import { HostedServer } from './hosted-server.ts';
import type { ServerDeps } from './server-deps.ts';

/** The names of the servers that a change of the configuration touched. */
export interface ServerChanges {
  added: string[];
  removed: string[];
  changed: string[];
}

/** Holds the hosted servers: those of the configuration, in its order, and those that were added at runtime. */
export class ServerRegistry {
  readonly #deps: ServerDeps;
  readonly #spawned = new Set<string>();
  readonly #leaving = new Set<HostedServer>();
  #servers: ReadonlyMap<string, HostedServer> = new Map();
  #alike: ReadonlySet<string> = new Set();

  constructor(deps: ServerDeps) {
    this.#deps = deps;
  }

  /** The hosted servers by name. */
  get servers(): ReadonlyMap<string, HostedServer> {
    return this.#servers;
  }

  /** The servers whose names give the same prefix for tool names. */
  get alike(): ReadonlySet<string> {
    return this.#alike;
  }

  /** Returns true if the server was added at runtime. */
  isSpawned(name: string): boolean {
    return this.#spawned.has(name);
  }

  /** Returns true if this server is still hosted, and was not replaced or removed. */
  has(server: HostedServer): boolean {
    return this.#servers.get(server.name) === server;
  }

  /** Returns the server with that name. Throws `SignalboxError` `server_not_found`, with the most similar name. */
  named(name: string): HostedServer {
    const server = this.#servers.get(name);
    if (server) return server;
    const names = [...this.#servers.keys()];
    const nearest = nearestName(name, names);
    const known = names.length > 0 ? `there are: ${names.join(', ')}` : 'there are none';
    const hint = nearest === undefined ? known : `did you mean '${nearest}'?`;
    throw new SignalboxError('server_not_found', `no server is named '${name.slice(0, 128)}'; ${hint}`, {
      details: nearest === undefined ? {} : { nearest },
    });
  }

  /** Replaces the configured servers by `servers`. Also returns the new ones, whose `begin` must be called. */
  apply(servers: Readonly<Record<string, McpServerConfig>>): {
    changes: ServerChanges;
    added: HostedServer[];
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
    return { changes, added: [...changes.added, ...changes.changed].map((name) => after.get(name)!) };
  }

  /** Adds a server besides the configuration, in place of a stopped one with that name. */
  spawn(name: string, config: McpServerConfig): HostedServer {
    const after = new Map(this.#servers);
    const server = this.#replacement(name, config, after.get(name));
    this.#spawned.add(name);
    this.#replaceAll(after.set(name, server));
    return server;
  }

  /** Ends all servers now. Resolves when their processes have exited. */
  async close(): Promise<void> {
    const closing = [...this.#servers.values(), ...this.#leaving].map((server) => server.close());
    // A server that fails to close must not keep the caller from waiting for the others.
    await Promise.allSettled(closing);
    await Promise.all(closing);
  }

  #replacement(name: string, config: McpServerConfig, old: HostedServer | undefined): HostedServer {
    if (old) this.#retire(old);
    // Nobody has accepted the definitions of a server without pins.
    const mayInherit = config.definitions !== 'pin' || old?.definitions !== undefined;
    const inherited = old?.isKnown && mayInherit ? sifted(old.heritage, config) : undefined;
    return new HostedServer(name, config, this.#deps, inherited);
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

/** Returns the list without the tools that a configuration leaves out. */
function sifted(list: ToolList, config: McpServerConfig): ToolList {
  const { passes } = toolSieve(config);
  return { ...list, tools: list.tools.filter(({ name }) => passes(name)) };
}
