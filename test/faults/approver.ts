import { setTimeout as delay } from 'node:timers/promises';
import { connectBroker } from '@signalbox/client';
import { type OrchestratorQuery, queryOrchestrator } from '@signalbox/operator';

const lookEveryMs = 25;
/** Who does not answer in this time is dead, and somebody else is asked. */
const answerMs = 500;

/** An operator who approves every call that waits, whoever dies meanwhile, until it is disposed. */
export async function startApprover(url: string, token: string): Promise<AsyncDisposable> {
  const client = await connectBroker({ url, token, agent: 'operator#approver', backoff: 'worker' });
  const stop = new AbortController();
  const approveAll = async (): Promise<void> => {
    const ask = <Query extends OrchestratorQuery>(query: Query) =>
      queryOrchestrator(client, 'orchestrator', query, { timeoutMs: answerMs });
    const { approvals } = await ask({ op: 'approvals' });
    await Promise.all(approvals.map(({ id }) => ask({ op: 'decide', id, verdict: 'approve' })));
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
