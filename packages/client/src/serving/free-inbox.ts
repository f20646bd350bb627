import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectedAgent, isJsonObject, SignalboxError } from '@signalbox/protocol';
import type { BrokerClient } from '../broker-client.ts';
import { clientError } from '../errors.ts';

/** The time between two looks at an inbox, in milliseconds. */
const lookMs = 1000;
/** The broker ends a dead connection within two heartbeats; it and other brokers need this much longer to tell, in milliseconds. */
const slackMs = 1000;

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

/**
 * Waits as long as the broker may take a dead process for the reader of the client's own inbox: one that a supervisor restarts after the
 * loss of a machine or a network must come back by itself. `onWait` is told once. Rejects as {@link requireFreeInbox} does, or when aborted.
 */
export async function awaitFreeInbox(
  client: BrokerClient,
  { signal, onWait }: { signal: AbortSignal; onWait: (message: string) => void },
): Promise<void> {
  const { heartbeat_ms: heartbeatMs } = client.welcome;
  const longestMs = 2 * heartbeatMs + slackMs;
  const deadline = performance.now() + longestMs;
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await requireFreeInbox(client);
    } catch (thrown) {
      const isUsed = thrown instanceof SignalboxError && thrown.code === 'inbox_in_use';
      if (!isUsed || performance.now() >= deadline) throw thrown;
      if (isFirst)
        onWait(`${thrown.message}; waiting ${Math.ceil(longestMs / 1000)} s for its end, as it may be dead`);
    }
    await delay(Math.min(lookMs, heartbeatMs / 3), undefined, { signal });
  }
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
