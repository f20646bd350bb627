import type { McpRequest } from '@signalbox/protocol';
import type { z } from 'zod';
import { withdrawOnSignal } from '../process/stop-signals.ts';
import { withSession } from './client-session.ts';
import type { ConnectionFlags } from './connection.ts';
import { askOrchestrator, dataOf, type OrchestratorChoice } from './orchestrator-request.ts';

export interface OperatorFlags extends ConnectionFlags, OrchestratorChoice {
  json?: boolean;
}

/** Asks the orchestrator a question that is no call, and reads the answer. Rejects with the orchestrator's own error. */
export async function askForData<T>(
  flags: OperatorFlags,
  request: Exclude<McpRequest, { op: 'call' }>,
  schema: z.ZodType<T>,
  timeoutMs = 10_000,
): Promise<T> {
  return await withSession(flags, async (session) => {
    using withdrawal = withdrawOnSignal();
    const { signal } = withdrawal;
    const options = { timeoutMs, ephemeral: true, signal };
    return dataOf(await askOrchestrator(session, flags, request, options), schema);
  });
}
