import type { BrokerClient } from '@signalbox/client';
import {
  type AdminResult,
  type AuditEntry,
  type AuditEntryKind,
  auditEntrySchema,
} from '@signalbox/protocol';

/** A row of the audit log: the JSON text of an entry, and its hash. */
export type AuditRow = AdminResult<'audit'>['rows'][number];

/** Rows of one chain of the audit log, and its ends at the moment when they were read. */
export type AuditChainPage = AdminResult<'audit_chain'>;

/** The number of rows of a whole page. */
export const auditPageSize: number = 1000;

/** Selects entries of the audit log. `since` is a time in epoch milliseconds. */
export interface AuditQuery {
  since: number;
  /** The kinds of entries; all of them by default. */
  kinds?: readonly AuditEntryKind[];
}

/**
 * Reads the entries of the audit log that were recorded last, ordered by their times: several kinds, and the reports of orchestrators, are
 * recorded some time after they happened. `more` says whether there are older ones.
 */
export async function readAudit(
  client: BrokerClient,
  { limit, ...query }: AuditQuery & { limit: number },
): Promise<{ entries: AuditEntry[]; more: boolean }> {
  const newest: AuditEntry[] = [];
  let before = Number.MAX_SAFE_INTEGER;
  while (newest.length <= limit) {
    const page = await readAuditPage(client, query, before, limit + 1 - newest.length);
    newest.push(...page.entries);
    if (page.first === undefined) break;
    before = page.first;
  }
  const entries = newest.slice(0, limit).reverse();
  // Entries of one millisecond keep the order in which they were recorded.
  return { entries: entries.sort((a, b) => a.at - b.at), more: newest.length > limit };
}

/** Reads the newest entries that precede a row, newest first. `first` is the row before which the next page begins; absent on the last one. */
export async function readAuditPage(
  client: BrokerClient,
  query: AuditQuery,
  before: number,
  most: number = auditPageSize,
): Promise<{ entries: AuditEntry[]; first?: number }> {
  const limit = Math.min(auditPageSize, most);
  const { rows, next } = await client.admin('audit', { ...queryOf(query), before, limit });
  const entries = rows.map(({ entry }) => auditEntrySchema.parse(JSON.parse(entry)));
  return next === undefined ? { entries } : { entries, first: next };
}

/** Reads all rows of the audit log, oldest first. */
export async function* auditRows(client: BrokerClient, query: AuditQuery): AsyncGenerator<AuditRow> {
  let after: number | undefined = 0;
  while (after !== undefined) {
    const page: AdminResult<'audit'> = await client.admin('audit', {
      ...queryOf(query),
      after,
      limit: auditPageSize,
    });
    yield* page.rows;
    after = page.next;
  }
}

function queryOf({ since, kinds }: AuditQuery) {
  return { since, ...(kinds && { kinds: [...kinds] }) };
}

/** Reads the rows of one chain after a number. The page is the last one if it has fewer rows than {@link auditPageSize}. */
export async function readAuditChain(
  client: BrokerClient,
  kind: AuditEntryKind,
  after: number,
): Promise<AuditChainPage> {
  return await client.admin('audit_chain', { kind, after, limit: auditPageSize });
}
