import { createHash } from 'node:crypto';
import type { Inventory } from '@signalbox/mcp-host';
import type { Tool } from '@signalbox/protocol';
import type { RoleToolAllowlist } from './role-tool-allowlist.ts';

/** What one role sees: its tools, and a version that is the same exactly as long as they are. */
export interface RoleView {
  version: string;
  tools: readonly Tool[];
  find(tool: string): Tool | undefined;
}

/** An inventory under an allowlist, seen through the eyes of each role. Views are made once and kept. */
export interface Catalog {
  readonly inventory: Inventory;
  readonly allowlist: RoleToolAllowlist;
  view(role: string): RoleView;
}

export function createCatalog(inventory: Inventory, allowlist: RoleToolAllowlist): Catalog {
  const views = new Map<string, RoleView>();
  return {
    inventory,
    allowlist,
    view(role) {
      let view = views.get(role);
      if (!view) {
        view = createView(allowlist.filterManifest(role, inventory.tools));
        views.set(role, view);
      }
      return view;
    },
  };
}

function createView(tools: readonly Tool[]): RoleView {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const version = createHash('sha256').update(JSON.stringify(tools)).digest('base64url').slice(0, 22);
  return { version, tools, find: (tool) => byName.get(tool) };
}

/** Names only. `changed` tools are in both views and differ in anything but their place. */
export interface ViewChange {
  added: string[];
  removed: string[];
  changed: string[];
}

/** How a role's view changed from one catalog to the next. */
export function viewChange(before: RoleView, after: RoleView): ViewChange {
  const stayed = after.tools.filter((tool) => before.find(tool.name));
  return {
    added: namesOf(after.tools.filter((tool) => !before.find(tool.name))),
    removed: namesOf(before.tools.filter((tool) => !after.find(tool.name))),
    changed: namesOf(
      stayed.filter((tool) => JSON.stringify(tool) !== JSON.stringify(before.find(tool.name))),
    ),
  };
}

function namesOf(tools: readonly Tool[]): string[] {
  return tools.map((tool) => tool.name);
}
