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

/** Reads the newest entries of the audit log, in the order in which they were recorded. `more` says whether there are older ones. */
export async function readAudit(
  client: BrokerClient,
  { limit, ...query }: AuditQuery & { limit: number },
): Promise<{ entries: AuditEntry[]; more: boolean }> {
  const newest: AuditEntry[] = [];
  let before = Number.MAX_SAFE_INTEGER;
  while (newest.length <= limit) {
    const wanted = Math.min(auditPageSize, limit + 1 - newest.length);
    const { rows } = await client.admin('audit', { ...queryOf(query), before, limit: wanted });
    newest.push(...rows.map(({ entry }) => auditEntrySchema.parse(JSON.parse(entry))));
    if (rows.length < wanted) break;
    before = rows.at(-1)!.number;
  }
  return { entries: newest.slice(0, limit).reverse(), more: newest.length > limit };
}

/** Reads all rows of the audit log, oldest first. */
export async function* auditRows(client: BrokerClient, query: AuditQuery): AsyncGenerator<AuditRow> {
  let after = 0;
  for (;;) {
    const { rows } = await client.admin('audit', { ...queryOf(query), after, limit: auditPageSize });
    yield* rows;
    after = rows.at(-1)?.number ?? after;
    if (rows.length < auditPageSize) return;
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
