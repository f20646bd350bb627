import { type ConnectedAgent, isJsonObject } from '@signalbox/protocol';
import type { BrokerClient } from '../broker-client.ts';
import { clientError } from '../errors.ts';

/**
 * Rejects with `inbox_in_use` if another program reads the client's own inbox: a subscription would take it from that program.
 */
export async function requireFreeInbox(client: BrokerClient): Promise<void> {
  const { agent } = client;
  const { connections, state } = await client.findRecipient(agent);
  if (!state?.reads) return;
  const reader = nameOfReader(agent, connections);
  throw clientError(
    'inbox_in_use',
    `another process reads the inbox of ${agent}${reader}; nothing was taken`,
    {
      details: { hint: 'end that process first, or take the inbox from it with --take-over' },
    },
  );
}

/** Names the reader of an inbox by what it announced, as in `: worker serve`; a face announces on a connection of its own. */
function nameOfReader(agent: string, connections: readonly ConnectedAgent[]): string {
  const own = workersAt(connections.filter(({ address }) => address === agent));
  const names = own.length > 0 ? own : workersAt(connections);
  return names.length === 0 ? '' : `: ${[...new Set(names)].join(', ')}`;
}

function workersAt(connections: readonly ConnectedAgent[]): string[] {
  return connections.flatMap(({ status }) =>
    isJsonObject(status) && typeof status.worker === 'string' && /^[a-z]{1,16}$/.test(status.worker)
      ? [`worker ${status.worker}`]
      : [],
  );
}
