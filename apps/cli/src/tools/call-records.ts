import { type CallRecord, callRecordSchema, SignalboxError } from '@signalbox/protocol';
import { z } from 'zod';
import type { Session } from '../connection/client-session.ts';
import { askOrchestrator, dataOf, type OrchestratorChoice } from '../connection/orchestrator-request.ts';

/** Which tool calls are asked for. `since` in epoch milliseconds. */
export interface CallQuery {
  running?: boolean;
  since?: number;
  limit?: number;
}

/** The largest number of calls that the orchestrator lists at a time. */
export const maxCalls = 1000;
const timeoutMs = 10_000;
const callsSchema = z.object({ calls: z.array(callRecordSchema) });

/** Reads tool calls in the order in which they came in. Rejects at once with `no_consumer` if no orchestrator is connected. */
export async function findCalls(
  session: Session,
  choice: OrchestratorChoice,
  query: CallQuery,
): Promise<CallRecord[]> {
  const { orchestrator = session.connection.orchestrator } = choice;
  const connected = await session.client.listConnected();
  if (!connected.some(({ address }) => address === orchestrator)) {
    throw new SignalboxError('no_consumer', `no orchestrator named '${orchestrator}' is connected`, {
      retryable: true,
      details: { hint: 'start one with: signalbox orchestrator   (signalbox up runs one)' },
    });
  }
  return await askForCalls(session, choice, query);
}

/** Reads tool calls as {@link findCalls}, without a look at who is connected: a missing orchestrator is `timed_out`. */
export async function askForCalls(
  session: Session,
  choice: OrchestratorChoice,
  query: CallQuery,
): Promise<CallRecord[]> {
  const request = { op: 'calls' as const, limit: maxCalls, ...query };
  const reply = await askOrchestrator(session, choice, request, { timeoutMs, ephemeral: true });
  const { calls } = dataOf(reply, callsSchema);
  return calls.sort((a, b) => a.received_at - b.received_at);
}
