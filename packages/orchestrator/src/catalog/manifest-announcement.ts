import type { BrokerClient, Log } from '@signalbox/client';
import { messageOf } from '@signalbox/protocol';
import { type Catalog, changedKinds, type ViewChange, viewChange } from './catalog.ts';

/** The most names of one kind in an event. */
const maxNames = 1000;

const noNames: ViewChange = { added: [], removed: [], changed: [] };

/**
 * Sends `manifest_changed` to the connected agents of each role whose view changed. Without `before`, it goes to all
 * agents with the version of their view and no tool names: an orchestrator that has just started cannot know which
 * tools the workers have. The events are ephemeral; a worker that misses one asks for its manifest when it reconnects.
 */
export async function announceCatalog(
  client: BrokerClient,
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
