import { isDeepStrictEqual } from 'node:util';
import type { BrokerClient, Log } from '@signalbox/client';
import type { Inventory } from '@signalbox/mcp-host';
import { messageOf } from '@signalbox/protocol';
import { AnnouncementPace } from './announcement-pace.ts';
import { type Catalog, changedKinds, type ViewChange, viewChange } from './catalog.ts';

/** The most names of one kind in an event. */
const maxNames = 1000;

const noNames: ViewChange = { added: [], removed: [], changed: [] };

/** An inventory, and the catalog that a policy makes of it. */
interface InventoryAndCatalog {
  inventory: Inventory;
  catalog: Catalog;
}

/**
 * Announces changes of the catalog in order. Changes of the policy are announced at once, and those of servers at the pace of
 * {@link AnnouncementPace}. What is announced late is the latest catalog.
 */
export class ManifestAnnouncements {
  readonly #announce: (before: Catalog | undefined, after: Catalog) => void;
  readonly #monotonic: () => number;
  readonly #pace = new AnnouncementPace();
  #latest: InventoryAndCatalog | undefined;
  #announced: InventoryAndCatalog | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** `announce` announces what differs between two catalogs. `monotonic` is in milliseconds. */
  constructor(announce: (before: Catalog | undefined, after: Catalog) => void, monotonic: () => number) {
    this.#announce = announce;
    this.#monotonic = monotonic;
  }

  /** Announces the catalog of a new inventory, now or when the lists that changed may be heard again. */
  inventoryChanged(latest: InventoryAndCatalog): void {
    const before = this.#latest;
    this.#latest = latest;
    if (before) this.#pace.changed(changedLists(before.inventory, latest.inventory), this.#monotonic());
    this.#announceWhenDue();
  }

  /** Announces the catalog of a new policy. */
  policyChanged(latest: InventoryAndCatalog): void {
    this.#latest = latest;
    this.#announceLatest();
  }

  /** Announces nothing any more. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  #announceWhenDue(): void {
    const [latest, announced, now] = [this.#latest!, this.#announced, this.#monotonic()];
    const lists = announced ? changedLists(announced.inventory, latest.inventory) : [];
    const waitMs = this.#pace.waitMs(lists, now);
    clearTimeout(this.#timer);
    if (waitMs > 0) {
      this.#timer = setTimeout(() => this.#announceWhenDue(), waitMs).unref();
      return;
    }
    this.#pace.announced(lists, now);
    this.#announceLatest();
  }

  #announceLatest(): void {
    const before = this.#announced?.catalog;
    this.#announced = this.#latest!;
    this.#announce(before, this.#announced.catalog);
  }
}

/** Returns the keys of the lists that differ in two inventories. Providers count as one server without a name. */
function changedLists(before: Inventory, after: Inventory): string[] {
  const [listsBefore, listsAfter] = [listsOf(before), listsOf(after)];
  const keys = new Set([...listsBefore.keys(), ...listsAfter.keys()]);
  return [...keys].filter((key) => !isSameList(listsBefore.get(key) ?? [], listsAfter.get(key) ?? []));
}

/** Returns what each server lists of each kind: a server that changes one list has not changed another. */
function listsOf({ tools, hidden, changed, mcpContent, origins }: Inventory): Map<string, unknown[]> {
  const found = new Map<string, unknown[]>();
  const add = (kind: string, server: string, ...what: unknown[]): void => {
    const key = `${kind} ${server}`;
    const list = found.get(key);
    if (list) list.push(...what);
    else found.set(key, what);
  };
  for (const tool of [...tools, ...hidden]) add('tools', origins.get(tool.name)?.server ?? '', tool);
  for (const [name, { server }] of changed) add('tools', server, 'withheld', name);
  for (const { server, prompt, change } of mcpContent.prompts) add('prompts', server, prompt, change);
  for (const { server, resource } of mcpContent.resources) add('resources', server, resource);
  for (const { server, template } of mcpContent.templates) add('resources', server, template);
  for (const { server, text } of mcpContent.instructions) add('instructions', server, text);
  return found;
}

/** Unchanged entries are nearly always the same objects. */
function isSameList(list: readonly unknown[], other: readonly unknown[]): boolean {
  return (
    list.length === other.length &&
    list.every((entry, i) => entry === other[i] || isDeepStrictEqual(entry, other[i]))
  );
}

/**
 * Sends `manifest_changed` to the connected agents of each role whose view changed. Without `before`, it goes to all
 * agents with the version of their view and no tool names: an orchestrator that has just started cannot know which
 * tools the workers have. The events are ephemeral; a worker that misses one asks for its manifest when it reconnects.
 */
export async function announceCatalog(
  client: Pick<BrokerClient, 'agent' | 'listConnected' | 'deliver'>,
  before: Catalog | undefined,
  after: Catalog,
  log: Log,
): Promise<void> {
  const bodies = new Map<string, object | undefined>();
  for (const { address, agent, role } of await client.listConnected()) {
    if (agent === client.agent) continue;
    if (!bodies.has(role)) bodies.set(role, eventFor(role, before, after));
    const body = bodies.get(role);
    if (!body) continue;
    client.deliver({ to: address, kind: 'event', body, ephemeral: true }).catch((thrown) => {
      log({ event: 'announcement_missed', address, reason: messageOf(thrown) });
    });
  }
}

function eventFor(role: string, before: Catalog | undefined, after: Catalog): object | undefined {
  const now = after.view(role);
  const then = before?.view(role);
  if (then?.version === now.version) return undefined;
  return {
    event: 'manifest_changed',
    version: now.version,
    ...(then ? { ...bounded(viewChange(then, now)), ...changedKinds(then, now) } : noNames),
  };
}

/** Cuts long lists of names, so that the event can be delivered even if very many tools change at once. */
function bounded({ added, removed, changed }: ViewChange): ViewChange {
  return {
    added: added.slice(0, maxNames),
    removed: removed.slice(0, maxNames),
    changed: changed.slice(0, maxNames),
  };
}
