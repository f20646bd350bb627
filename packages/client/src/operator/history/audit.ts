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

/** Reads the newest entries of the audit log in the order of their recording. `more` says whether there are older ones beyond the limit. */
export async function readAudit(
  client: BrokerClient,
  { since, kinds, limit }: AuditQuery & { limit: number },
): Promise<{ entries: AuditEntry[]; more: boolean }> {
  const found: AuditRow[] = [];
  for (let before = Number.MAX_SAFE_INTEGER, isLast = false; !isLast; ) {
    const wanted = Math.min(auditPageSize, limit + 1 - found.length);
    const page = { since, kinds: kinds && [...kinds], before, limit: wanted };
    const { rows } = await client.admin('audit', page);
    found.unshift(...rows);
    before = rows[0]?.number ?? 0;
    isLast = rows.length < wanted || found.length > limit;
  }
  const entries = found.slice(-limit).map(({ entry }) => auditEntrySchema.parse(JSON.parse(entry)));
  return { entries, more: found.length > limit };
}

/** Reads rows of the audit log, oldest first. */
export async function* auditRows(
  client: BrokerClient,
  { since, kinds }: AuditQuery,
): AsyncGenerator<AuditRow> {
  let after = 0;
  for (;;) {
    const page = { since, kinds: kinds && [...kinds], after, limit: auditPageSize };
    const { rows } = await client.admin('audit', page);
    yield* rows;
    after = rows.at(-1)?.number ?? after;
    if (rows.length < auditPageSize) return;
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
