import type { BrokerClient, Log } from '@signalbox/client';
import type { Inventory, McpHost } from '@signalbox/mcp-host';
import { messageOf, type Tool, withRepeatWord } from '@signalbox/protocol';
import { type RepeatLists, repeatWordFor } from '../roles/repeat-lists.ts';
import type { RoleToolAllowlist } from '../roles/role-tool-allowlist.ts';
import { type Catalog, createCatalog, type MailboxRules } from './catalog.ts';
import { announceCatalog } from './manifest-announcement.ts';
import { DefinitionLog } from './tool-change-times.ts';

/** What of the policy decides how the tools look to each role. */
export interface ToolPolicy {
  allowlist: RoleToolAllowlist;
  repeat: RepeatLists;
  mailbox: MailboxRules;
}

/** Keeps the latest inventory under the latest policy; each change is announced, one after the other. */
export interface CatalogTracker {
  /** The catalog of this moment; waits for the first inventory only. */
  current(): Promise<Catalog>;
  /** The same, if there is one already. */
  readonly latest: Catalog | undefined;
  readonly policy: ToolPolicy;
  /** Replaces what is given; one change, however much of it. */
  setPolicy(changes: Partial<ToolPolicy>): void;
  /** When the definition of a tool last changed, in epoch milliseconds; `undefined` if it has not since we know it. */
  changedAt(tool: string): number | undefined;
  stop(): void;
}

/** `now` is in epoch milliseconds. */
export function trackCatalog(
  client: BrokerClient,
  host: McpHost,
  initial: ToolPolicy,
  { log, now }: { log: Log; now: () => number },
): CatalogTracker {
  let policy = initial;
  let offered: Inventory | undefined;
  let catalog: Catalog | undefined;
  let announced = Promise.resolve();
  const definitions = new DefinitionLog();

  const adopt = (inventory: Inventory): Catalog => {
    const before = catalog;
    offered = inventory;
    const { allowlist, repeat, mailbox } = policy;
    const after = createCatalog(withRepeatWords(inventory, repeat), allowlist, mailbox);
    catalog = after;
    announced = announced
      .then(() => announceCatalog(client, before, after, log))
      .catch((thrown) => log({ event: 'announcement_failed', reason: messageOf(thrown) }));
    return after;
  };
  const adoptOffer = (inventory: Inventory): Catalog => {
    definitions.record([...inventory.tools, ...inventory.hidden], now());
    return adopt(inventory);
  };
  const stop = host.onInventoryChanged(adoptOffer);
  return {
    async current() {
      if (catalog) return catalog;
      const inventory = await host.inventory();
      return catalog ?? adoptOffer(inventory);
    },
    get latest() {
      return catalog;
    },
    get policy() {
      return policy;
    },
    setPolicy(changes) {
      policy = { ...policy, ...changes };
      if (offered) adopt(offered);
    },
    changedAt: (tool) => definitions.changedAt(tool),
    stop,
  };
}

/** With the operator's word on repeating each tool. */
function withRepeatWords(inventory: Inventory, repeat: RepeatLists): Inventory {
  const withWord = (tool: Tool) => withRepeatWord(tool, repeatWordFor(repeat, tool.name));
  return { ...inventory, tools: inventory.tools.map(withWord), hidden: inventory.hidden.map(withWord) };
}
