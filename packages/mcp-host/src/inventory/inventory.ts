import { createHash } from 'node:crypto';
import type { Tool } from '@signalbox/protocol';
import type { ToolList } from './tool-list.ts';
import { assignToolNames, whyRenamed } from './tool-name.ts';

/** Something the inventory lacks, and why. Free of secrets and of other servers' configuration. */
export interface InventoryProblem {
  server: string;
  tool?: string;
  message: string;
  /** Names don't tell which tools are this server's. */
  prefix?: false;
}

/**
 * Every tool on offer, named `mcp_{server}__{tool}` (or as its server names it, with `prefix: false`) and otherwise as its server
 * describes it, ordered by name.
 * `version` is a hash of the tools: it changes when, and only when, any of them does.
 */
export interface Inventory {
  version: string;
  tools: Tool[];
  /** Callable by their exact names, which are these, and otherwise not to be shown. */
  hidden: Tool[];
  renamed: RenamedTool[];
  /** The tools of servers with `prefix: false`, whose names don't tell their servers. */
  unprefixed: UnprefixedTool[];
  problems: InventoryProblem[];
}

/** A tool of a server with `prefix: false`; `name` is the one it is called by. */
export interface UnprefixedTool {
  server: string;
  tool: string;
  name: string;
}

/** A tool whose name here is not `mcp_{server}__{tool}`, or its own with `prefix: false`, and why. */
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
  /** False: its tools are to have their own names. */
  prefix?: boolean;
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
    inventory: {
      version: version.slice(0, 22),
      tools,
      hidden,
      renamed: named.renamed,
      unprefixed: named.unprefixed,
      problems,
    },
    routes: named.routes,
    provided,
  };
}

function nameTools(
  servers: readonly ToolSource[],
  { alike, max }: { alike: ReadonlySet<string>; max: number },
) {
  const found = servers.flatMap(({ name: server, tools, prefix = true }) =>
    tools.map((tool) => ({ route: { server, tool }, prefix })),
  );
  const keys = found.map(({ route, prefix }) => ({ server: route.server, tool: route.tool.name, prefix }));
  const names = assignToolNames(keys, alike, max);
  const routes = new Map<string, ToolRoute>();
  const renamed: RenamedTool[] = [];
  const problems: InventoryProblem[] = [];
  const unprefixed: UnprefixedTool[] = [];
  for (const [i, { route, prefix }] of found.entries()) {
    const name = names[i];
    const key = { server: route.server, tool: route.tool.name };
    if (name === undefined) {
      problems.push({ ...key, message: 'left out: another tool already has its name' });
      continue;
    }
    routes.set(name, route);
    if (!prefix) unprefixed.push({ ...key, name });
    const reason = whyRenamed({ ...key, prefix }, name, alike, max);
    if (reason !== undefined) renamed.push({ ...key, name, reason });
  }
  return { routes, renamed, unprefixed, problems };
}

function problemsOf(sources: readonly ToolSource[]): InventoryProblem[] {
  return sources.flatMap(({ name: server, problems, prefix }) =>
    problems.map((problem) => ({ server, ...problem, ...(prefix === false && { prefix }) })),
  );
}
