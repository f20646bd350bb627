import type { BrokerClient, Log } from '@signalbox/client';
import { messageOf } from '@signalbox/protocol';

import { type Catalog, type ViewChange, viewChange } from './catalog.ts';

const nothing: ViewChange = { added: [], removed: [], changed: [] };

/**
 * Tells the connected agents of each role whose view changed, and nobody else. Without a `before` (an orchestrator
 * that has just started cannot know what live workers hold) everybody is told the version of their view, with no
 * names. Hints are ephemeral: who misses one asks again on its next connect.
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
    ...(then ? viewChange(then, now) : nothing),
  };
}
