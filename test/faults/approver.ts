import { setTimeout as delay } from 'node:timers/promises';
import { connectBroker } from '@signalbox/client';
import { type OrchestratorQuery, queryOrchestrator } from '@signalbox/client/operator';

const lookEveryMs = 25;
/** An orchestrator that does not answer within this time counts as dead, and another one is asked. */
const answerMs = 500;

/** An operator who approves every waiting call, also when broker or orchestrator die, until it is disposed. */
export async function startApprover(url: string, token: string): Promise<AsyncDisposable> {
  const client = await connectBroker({ url, token, agent: 'operator#approver' });
  const stop = new AbortController();
  const approveAll = async (): Promise<void> => {
    const ask = <Query extends OrchestratorQuery>(query: Query) =>
      queryOrchestrator(client, 'orchestrator', query, { timeoutMs: answerMs });
    const { approvals } = await ask({ op: 'approvals' });
    await Promise.all(approvals.map(({ id }) => ask({ op: 'decide', id, verdict: 'approve' })));
  };
  const loop = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      // The orchestrator may be dead. Then its successor is asked.
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
