import { createHash } from 'node:crypto';
import type { Tool } from '@signalbox/protocol';
import type { ToolList } from './tool-list.ts';
import { assignToolNames, whyRenamed } from './tool-name.ts';

/** Something the inventory lacks, and why. Free of secrets and of other servers' configuration. */
export interface InventoryProblem {
  server: string;
  tool?: string;
  message: string;
}

/**
 * Every tool on offer, named `mcp_{server}__{tool}` and otherwise as its server describes it, ordered by name.
 * `version` is a hash of the tools: it changes when, and only when, any of them does.
 */
export interface Inventory {
  version: string;
  tools: Tool[];
  /** Callable by their exact names, which are these, and otherwise not to be shown. */
  hidden: Tool[];
  renamed: RenamedTool[];
  problems: InventoryProblem[];
}

/** A tool whose name here is not `mcp_{server}__{tool}`, and why. */
export interface RenamedTool {
  server: string;
  tool: string;
  name: string;
  reason: string;
}

/** Where a call by an inventory's name goes. `tool` is as the server, or the provider of that name, named it. */
export interface ToolRoute {
  server: string;
  tool: Tool;
}

/** A server, or another source of tools, with what it offers. */
export interface ToolSource extends ToolList {
  name: string;
  /** Callable by exact name only. */
  isHidden?: boolean;
}

export interface InventoryBuild {
  inventory: Inventory;
  routes: ReadonlyMap<string, ToolRoute>;
  /** The routes that lead to providers. */
  provided: ReadonlyMap<string, ToolRoute>;
}

/**
 * Puts the lists together, in the order of the configuration: of two tools that can't both have a name, the first has it.
 * Tools of `providers` keep their own names, unless a server's tool has one already.
 */
export function buildInventory(
  servers: readonly ToolSource[],
  providers: readonly ToolSource[],
  naming: { alike: ReadonlySet<string>; max: number },
): InventoryBuild {
  const named = nameTools(servers, naming);
  const provided = new Map<string, ToolRoute>();
  const conflicts: InventoryProblem[] = [];
  for (const { name: server, tools } of providers) {
    for (const tool of tools) {
      const isTaken = named.routes.has(tool.name) || provided.has(tool.name);
      if (!isTaken) provided.set(tool.name, { server, tool });
      else
        conflicts.push({ server, tool: tool.name, message: 'left out: another tool already has its name' });
    }
  }
  const isHidden = new Set(servers.filter((source) => source.isHidden).map(({ name }) => name));
  const all = [...named.routes, ...provided].sort(([a], [b]) => (a < b ? -1 : 1));
  const [hidden, tools] = [true, false].map((hide) =>
    all
      .filter(([name, { server }]) => (isHidden.has(server) && !provided.has(name)) === hide)
      .map(([name, { tool }]) => ({ ...tool, name })),
  ) as [Tool[], Tool[]];
  const version = createHash('sha256')
    .update(JSON.stringify([tools, hidden]))
    .digest('base64url');
  const problems = [...problemsOf([...servers, ...providers]), ...named.problems, ...conflicts];
  return {
    inventory: { version: version.slice(0, 22), tools, hidden, renamed: named.renamed, problems },
    routes: named.routes,
    provided,
  };
}

function nameTools(
  servers: readonly ToolSource[],
  { alike, max }: { alike: ReadonlySet<string>; max: number },
) {
  const found = servers.flatMap(({ name: server, tools }) => tools.map((tool) => ({ server, tool })));
  const keys = found.map(({ server, tool }) => ({ server, tool: tool.name }));
  const names = assignToolNames(keys, alike, max);
  const routes = new Map<string, ToolRoute>();
  const renamed: RenamedTool[] = [];
  const problems: InventoryProblem[] = [];
  for (const [i, route] of found.entries()) {
    const [name, key] = [names[i], keys[i]!];
    if (name === undefined) {
      problems.push({ ...key, message: 'left out: another tool already has its name' });
      continue;
    }
    routes.set(name, route);
    const reason = whyRenamed(key, name, alike, max);
    if (reason !== undefined) renamed.push({ ...key, name, reason });
  }
  return { routes, renamed, problems };
}

function problemsOf(sources: readonly ToolSource[]): InventoryProblem[] {
  return sources.flatMap(({ name: server, problems }) => problems.map((problem) => ({ server, ...problem })));
}
