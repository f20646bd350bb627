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

/** Reads entries of the audit log, oldest first. `more` says whether there are others beyond the limit. */
export async function readAudit(
  client: BrokerClient,
  { limit, ...query }: AuditQuery & { limit: number },
): Promise<{ entries: AuditEntry[]; more: boolean }> {
  const entries: AuditEntry[] = [];
  for await (const row of auditRows(client, query, limit + 1)) {
    entries.push(auditEntrySchema.parse(JSON.parse(row.entry)));
  }
  return { entries: entries.slice(0, limit), more: entries.length > limit };
}

/** Reads rows of the audit log, oldest first. */
export async function* auditRows(
  client: BrokerClient,
  { since, kinds }: AuditQuery,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<AuditRow> {
  let after = 0;
  let left = limit;
  for (;;) {
    const wanted = Math.min(auditPageSize, left);
    const { rows } = await client.admin('audit', { since, kinds: kinds && [...kinds], after, limit: wanted });
    yield* rows;
    left -= rows.length;
    after = rows.at(-1)?.number ?? after;
    if (rows.length < wanted || left === 0) return;
  }
}

/** Reads the rows of one chain after a number. The page is the last one if it has fewer rows than {@link auditPageSize}. */
export async function readAuditChain(
  client: BrokerClient,
  kind: AuditEntryKind,
  after: number,
): Promise<AuditChainPage> {
  return await client.admin('audit_chain', { kind, after, limit: auditPageSize });
}
