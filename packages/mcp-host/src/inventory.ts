import { createHash } from 'node:crypto';
import type { Tool } from '@signalbox/protocol';
import type { ToolList } from './tool-list.ts';
import { assignToolNames } from './tool-name.ts';

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
  problems: InventoryProblem[];
}

/** Where a call by an inventory's name goes. `tool` is as the server named it. */
export interface ToolRoute {
  server: string;
  tool: Tool;
}

export interface InventoryBuild {
  inventory: Inventory;
  routes: ReadonlyMap<string, ToolRoute>;
}

/** Puts the servers' lists together, in the order of the configuration: of two tools that can't both have a name, the first has it. */
export function buildInventory(
  lists: ReadonlyMap<string, ToolList>,
  naming: { alike: ReadonlySet<string>; max: number },
): InventoryBuild {
  const problems: InventoryProblem[] = [];
  const found: ToolRoute[] = [];
  for (const [server, list] of lists) {
    for (const problem of list.problems) problems.push({ server, ...problem });
    for (const tool of list.tools) found.push({ server, tool });
  }
  const keys = found.map(({ server, tool }) => ({ server, tool: tool.name }));
  const names = assignToolNames(keys, naming.alike, naming.max);
  const routes = new Map<string, ToolRoute>();
  for (const [i, route] of found.entries()) {
    const name = names[i];
    if (name !== undefined) routes.set(name, route);
    else problems.push({ ...keys[i]!, message: 'left out: another tool already has its name' });
  }
  const tools = [...routes]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, route]) => ({ ...route.tool, name }));
  const version = createHash('sha256').update(JSON.stringify(tools)).digest('base64url').slice(0, 22);
  return { inventory: { version, tools, problems }, routes };
}
