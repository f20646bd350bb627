import type { BrokerClient, Log } from '@signalbox/client';
import { readAuditPage } from '@signalbox/client/operator/internal';
import { type AuditEntry, mcpContentMethods, messageOf } from '@signalbox/protocol';
import type { Journal } from '@signalbox/store/journal';
import { keptResultRead } from '../audit/call-events.ts';
import type { EarlierCalls } from './budget-ledger.ts';

/** The most pages of 1,000 rows that are read of each kind, so that a start takes seconds at most. */
const maxPages = 100;
/** The most calls of the journal that are looked at. */
const maxJournaled = 10_000;

/** The dependencies of {@link readEarlierCalls}. */
export interface EarlierCallsDeps {
  client: BrokerClient;
  journal: Pick<Journal, 'list'> | undefined;
  /** Epoch milliseconds. */
  now: () => number;
  log: Log;
}

/**
 * Reads the calls of the last `windowMs` milliseconds that count against budgets: those that this orchestrator reported to the audit log,
 * and, from the journal, those that it began and did not report. It logs a part that it cannot read, and counts the others.
 */
export async function readEarlierCalls(
  { client, journal, now, log }: EarlierCallsDeps,
  windowMs: number,
): Promise<EarlierCalls[]> {
  const at = now();
  const since = Math.max(0, Math.floor(at - windowMs));
  const unreported = new Map<string, EarlierCalls>();
  const reported: EarlierCalls[] = [];
  const readJournal = async (): Promise<void> => {
    for (const call of (await journal?.list({ limit: maxJournaled })) ?? []) {
      const { agent, requestId, role, tool, startedAt } = call;
      if (startedAt !== undefined && !isQuestion(tool))
        unreported.set(`${agent} ${requestId}`, { agent, role, agoMs: at - startedAt, calls: 1 });
    }
  };
  const readAudit = async (kind: 'call' | 'refusal'): Promise<void> => {
    let before: number | undefined = Number.MAX_SAFE_INTEGER;
    for (let page = 0; before !== undefined && page < maxPages; page++) {
      const place: number = before;
      const readPage = () => readAuditPage(client, { since, kinds: [kind] }, place);
      // If the connection is lost meanwhile, the second read waits for the next one.
      const found = await readPage().catch(readPage);
      for (const entry of found.entries) {
        const calls = countedCalls(entry, at);
        if (calls) reported.push(calls);
        // Agents choose the ids of their requests: a refused call with the id of one that ran must not hide it.
        if (entry.code === 'call_ended') unreported.delete(`${entry.agent} ${entry.request_id}`);
      }
      before = found.first;
    }
  };
  // Each kind has its own pages, so that many refusals hide no calls that ran.
  for (const read of [readJournal, () => readAudit('call'), () => readAudit('refusal')]) {
    await read().catch((thrown) => log({ event: 'budgets_not_read', reason: messageOf(thrown) }));
  }
  return [...unreported.values(), ...reported];
}

/** Returns the calls of an entry that count against budgets: those that ran, and those with wrong arguments. */
export function countedCalls(
  { code, at, took_ms = 0, agent, role, name, outcome, detail, count }: AuditEntry,
  now: number,
): EarlierCalls | undefined {
  if (agent === undefined || role === undefined || name === undefined || isQuestion(name)) return undefined;
  const isContent = mcpContentMethods.some((method) => method === name);
  if (code === 'call_ended' && detail !== keptResultRead)
    return { agent, role, agoMs: now - (at - took_ms), calls: 1 };
  if (code === 'call_refused' && outcome === 'invalid_arguments' && !isContent)
    return { agent, role, agoMs: now - at, calls: count };
  return undefined;
}

/** Tells whether this is the name of a permission question, of which nothing is counted. */
function isQuestion(name: string): boolean {
  return name.includes(':');
}
