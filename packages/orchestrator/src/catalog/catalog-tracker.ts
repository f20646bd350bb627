import type { BrokerClient, Log } from '@signalbox/client';
import type { Inventory, McpHost } from '@signalbox/mcp-host';
import { ClientForms } from '@signalbox/mcp-host/argument-check';
import { ToolDigests } from '@signalbox/mcp-host/tool-calls';
import {
  messageOf,
  type Tool,
  type ToolChangeReport,
  type UnshownReport,
  withRepeatOverride,
} from '@signalbox/protocol';
import type { ToolPolicy } from '../operator/policy.ts';
import { type RepeatLists, repeatOverrideFor } from '../roles/repeat-lists.ts';
import { type Catalog, createCatalog } from './catalog.ts';
import { announceCatalog, ManifestAnnouncements } from './manifest-announcement.ts';
import { ToolChanges } from './tool-changes.ts';

/** Keeps the catalog of the host's latest inventory under the latest policy, and announces each change in order. */
export interface CatalogTracker {
  /** The latest catalog; `undefined` until the host has its first inventory. */
  readonly latest: Catalog | undefined;
  /** The catalog as it is now. Waits only until the host has its first inventory. */
  current(): Promise<Catalog>;
  /**
   * Returns the definition of a tool in the latest catalog as its server sent it, also one that is withheld; `undefined` if there is no
   * catalog yet, or no such tool.
   */
  sentDefinition(tool: string): Tool | undefined;
  /** Returns the catalog as it is now, even if servers are still starting for the first time. */
  present(): Catalog;
  readonly policy: ToolPolicy;
  /** Replaces the given parts of the policy in one change. */
  setPolicy(changes: Partial<ToolPolicy>): void;
  /** Returns the time when the definition of a tool last changed, in epoch milliseconds; `undefined` if this process saw no change. */
  changedAt(tool: string): number | undefined;
  /** Lists the last changes of a server's tools that this process saw, newest first. */
  changesOf(server: string): ToolChangeReport[];
  /** Lists what clients leave out or change of a server's listed tools. */
  unshownOf(server: string): UnshownReport[];
  /** Stops following the host's inventory. */
  stop(): void;
}

/** Follows the host's inventory until it is stopped. `now` is in epoch milliseconds, `monotonic` in monotonic ones. */
export function trackCatalog(
  client: Pick<BrokerClient, 'agent' | 'listConnected' | 'deliver'>,
  host: McpHost,
  initial: ToolPolicy,
  { log, now, monotonic }: { log: Log; now: () => number; monotonic: () => number },
): CatalogTracker {
  let policy = initial;
  let latestInventory: Inventory | undefined;
  let catalog: Catalog | undefined;
  let announced = Promise.resolve();
  const digests = new ToolDigests();
  const clientForms = new ClientForms(monotonic);
  const changes = new ToolChanges((tool) => digests.of(tool));

  const catalogOf = (inventory: Inventory): Catalog =>
    createCatalog(withRepeatOverrides(inventory, policy.repeat), policy, { digests, clientForms });
  const announcements = new ManifestAnnouncements((before, after) => {
    announced = announced
      .then(() => announceCatalog(client, before, after, log))
      .catch((thrown) => log({ event: 'announcement_failed', reason: messageOf(thrown) }));
  }, monotonic);
  const takeInventory = (inventory: Inventory): Catalog => {
    const serverOf = (name: string) => inventory.origins.get(name)?.server;
    const changed = Array.from(inventory.changed.values(), ({ tool }) => tool);
    changes.record({ tools: [...inventory.tools, ...inventory.hidden, ...changed], serverOf }, now());
    latestInventory = inventory;
    catalog = catalogOf(inventory);
    announcements.inventoryChanged({ inventory, catalog });
    return catalog;
  };
  const unsubscribe = host.onInventoryChanged(takeInventory);
  return {
    get latest() {
      return catalog;
    },
    async current() {
      if (catalog) return catalog;
      const inventory = await host.inventory();
      return catalog ?? takeInventory(inventory);
    },
    sentDefinition: (tool) =>
      catalog?.inventory.sent.get(tool) ?? catalog?.tool(tool) ?? catalog?.inventory.changed.get(tool)?.tool,
    present: () => catalog ?? catalogOf(host.presentInventory()),
    get policy() {
      return policy;
    },
    setPolicy(changes) {
      policy = { ...policy, ...changes };
      if (!latestInventory) return;
      catalog = catalogOf(latestInventory);
      announcements.policyChanged({ inventory: latestInventory, catalog });
    },
    changedAt: (tool) => changes.changedAt(tool),
    changesOf: (server) => changes.ofServer(server),
    unshownOf: (server) => unshownOf(server, catalog?.inventory ?? host.presentInventory(), clientForms),
    stop() {
      unsubscribe();
      announcements.stop();
    },
  };
}

/** Marks each tool that the operator's lists name. */
function withRepeatOverrides(inventory: Inventory, repeat: RepeatLists): Inventory {
  const withWord = (tool: Tool) =>
    withRepeatOverride(tool, repeatOverrideFor(repeat, tool.name, inventory.origins.get(tool.name)));
  const { tools, hidden, sent } = inventory;
  return {
    ...inventory,
    tools: tools.map(withWord),
    hidden: hidden.map(withWord),
    sent: new Map(Array.from(sent, ([name, tool]) => [name, withWord(tool)])),
  };
}

/** The most tools that are named in one report. */
const maxNamed = 20;

/** Reports which listed tools of a server certain clients leave out or change, tools with the same client and reason together. */
function unshownOf(
  server: string,
  { tools, origins }: Pick<Inventory, 'tools' | 'origins'>,
  clientForms: ClientForms,
): UnshownReport[] {
  const reports = new Map<string, UnshownReport>();
  for (const { name, inputSchema } of tools) {
    if (origins.get(name)?.server !== server) continue;
    for (const { client, how, why } of clientForms.of(inputSchema).unshown) {
      const key = JSON.stringify([client, how, why]);
      const report = reports.get(key) ?? { client, how, why, tools: [], count: 0 };
      reports.set(key, report);
      report.count++;
      if (report.tools.length < maxNamed) report.tools.push(name);
    }
  }
  return [...reports.values()];
}
