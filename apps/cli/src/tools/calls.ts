import { type CallRecord, callRecordSchema, SignalboxError } from '@signalbox/protocol';
import { z } from 'zod';
import { type Session, withSession } from '../broker-connection/client-session.ts';
import type { ConnectionFlags } from '../broker-connection/connection.ts';
import { formatElapsed } from '../terminal/duration.ts';
import { count, printJson, printLines, tableLines } from '../terminal/output.ts';
import { askOrchestrator, dataOf, type OrchestratorChoice } from './orchestrator-request.ts';

export interface ToolsCallsFlags extends ConnectionFlags, OrchestratorChoice {
  running?: boolean;
  /** How far back, in milliseconds. */
  since?: number;
  limit: number;
  json?: boolean;
}

const callsSchema = z.object({ calls: z.array(callRecordSchema) });
const timeoutMs = 10_000;
/** What the orchestrator lists at a time. */
export const maxCalls = 1000;

/** Prints the tool calls that the orchestrator knows of: those that wait, run, or ended. */
export async function listCalls(flags: ToolsCallsFlags): Promise<void> {
  const { running, limit } = flags;
  const calls = await withSession(flags, (session) =>
    fetchCalls(session, flags, {
      ...(running === true && { running }),
      ...(flags.since !== undefined && { since: Math.max(0, Date.now() - flags.since) }),
      limit: Math.min(limit, maxCalls),
    }),
  );
  if (flags.json) return printJson({ calls });
  if (calls.length === 0)
    return printLines(running ? 'no tool call waits or runs' : 'no tool calls in that time');
  const rows = calls.map(
    ({ agent, tool, state, received_at, started_at, finished_at, outcome, request_id }) => [
      agent,
      tool,
      state,
      new Date(started_at ?? received_at).toISOString(),
      took(started_at ?? received_at, finished_at),
      outcome ?? '-',
      request_id,
    ],
  );
  printLines(
    ...tableLines(['AGENT', 'TOOL', 'STATE', 'STARTED', 'TOOK', 'OUTCOME', 'ID'], rows),
    '',
    calls.length < limit
      ? count(calls.length, 'call')
      : `${calls.length} calls; there may be more: raise --limit.`,
  );
}

/** Tool calls by the time they came in. Rejects at once with `no_consumer` if no orchestrator is connected. */
export async function fetchCalls(
  session: Session,
  choice: OrchestratorChoice,
  query: { running?: boolean; since?: number; limit?: number },
): Promise<CallRecord[]> {
  const { orchestrator = session.connection.orchestrator } = choice;
  const connected = await session.client.listConnected();
  if (!connected.some(({ address }) => address === orchestrator)) {
    throw new SignalboxError('no_consumer', `no orchestrator named '${orchestrator}' is connected`, {
      retryable: true,
      details: { hint: 'start one with: signalbox orchestrator   (signalbox up runs one)' },
    });
  }
  return await askCalls(session, choice, query);
}

/** The same of an orchestrator that is known to be connected. One that is not fails with `timed_out`. */
export async function askCalls(
  session: Session,
  choice: OrchestratorChoice,
  query: { running?: boolean; since?: number; limit?: number },
): Promise<CallRecord[]> {
  const request = { op: 'calls' as const, limit: maxCalls, ...query };
  const reply = await askOrchestrator(session, choice, request, { timeoutMs, ephemeral: true });
  const { calls } = dataOf(reply, callsSchema);
  return calls.sort((a, b) => a.received_at - b.received_at);
}

function took(start: number, end: number | undefined): string {
  const ms = (end ?? Date.now()) - start;
  return end === undefined ? `${formatElapsed(ms)} so far` : formatElapsed(ms);
}
