import type { BrokerClient } from '@signalbox/client';
import type { McpProxyExecutor } from '@signalbox/worker';

/** Resolves when the executor has a new list of tools. */
export const changeOf = (executor: McpProxyExecutor) =>
  new Promise<void>((resolve) => executor.onManifestChanged(resolve));

/** Returns the events that a client gets after it has seen its manifest. */
export async function eventsOf(client: BrokerClient) {
  await client.request(
    'orchestrator',
    'mcp_request',
    { op: 'manifest' },
    { timeoutMs: 10_000, ephemeral: true },
  );
  const arrived: unknown[] = [];
  const waiters: ((event: unknown) => void)[] = [];
  client.onMessage(({ json }) => {
    const waiter = waiters.shift();
    if (waiter) waiter(json);
    else arrived.push(json);
  });
  return {
    next: (): unknown =>
      arrived.length > 0 ? arrived.shift() : new Promise((resolve) => waiters.push(resolve)),
    get waiting() {
      return arrived.length;
    },
  };
}
