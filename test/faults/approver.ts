import { setTimeout as delay } from 'node:timers/promises';
import { connectBroker } from '@signalbox/client';
import { decideApproval, listApprovals } from '@signalbox/operator';

const lookEveryMs = 25;

/** An operator who approves every call that waits, whoever dies meanwhile, until it is disposed. */
export async function startApprover(url: string, token: string): Promise<AsyncDisposable> {
  const client = await connectBroker({ url, token, agent: 'operator#approver', backoff: 'worker' });
  const stop = new AbortController();
  const approveAll = async (): Promise<void> => {
    const { approvals } = await listApprovals(client, 'orchestrator', { limit: 100 });
    const decide = ({ id }: { id: string }) =>
      decideApproval(client, 'orchestrator', id, { verdict: 'approve' });
    await Promise.all(approvals.map(decide));
  };
  const loop = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      // Whoever is to answer may be dead: then it is asked again.
      await approveAll().catch(() => {});
      await delay(lookEveryMs, undefined, { signal: stop.signal }).catch(() => {});
    }
  };
  const ended = loop();
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await client.close();
      await ended;
    },
  };
}
