import type { BrokerClient, Log } from '@signalbox/client';
import type { Inventory, McpHost } from '@signalbox/mcp-host';
import { messageOf, withRepeatWord } from '@signalbox/protocol';

import { announceCatalog } from './manifest-announcement.ts';
import { type RepeatLists, repeatWordFor } from './repeat-words.ts';
import type { RoleToolAllowlist } from './role-tool-allowlist.ts';
import { type Catalog, createCatalog } from './role-view.ts';

/** Keeps the latest inventory under the latest allowlist, with the operator's word on repeating each tool; each change is announced, one after the other. */
export interface CatalogTracker {
  /** The catalog of this moment; waits for the first inventory only. */
  current(): Promise<Catalog>;
  setAllowlist(allowlist: RoleToolAllowlist): void;
  stop(): void;
}

export function trackCatalog(
  client: BrokerClient,
  host: McpHost,
  policy: { allowlist: RoleToolAllowlist; repeat: RepeatLists },
  log: Log,
): CatalogTracker {
  const { repeat } = policy;
  let { allowlist } = policy;
  let catalog: Catalog | undefined;
  let announced = Promise.resolve();

  const adopt = (inventory: Inventory): Catalog => {
    const before = catalog;
    const tools = inventory.tools.map((tool) => withRepeatWord(tool, repeatWordFor(repeat, tool.name)));
    const after = createCatalog({ ...inventory, tools }, allowlist);
    catalog = after;
    announced = announced
      .then(() => announceCatalog(client, before, after, log))
      .catch((thrown) => log({ event: 'announcement_failed', reason: messageOf(thrown) }));
    return after;
  };
  const stop = host.onInventoryChanged(adopt);
  return {
    async current() {
      if (catalog) return catalog;
      const inventory = await host.inventory();
      return catalog ?? adopt(inventory);
    },
    setAllowlist(next) {
      allowlist = next;
      if (catalog) adopt(catalog.inventory);
    },
    stop,
  };
}
