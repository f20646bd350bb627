import type { AuditRow, HistoryEntry } from '@signalbox/store';
import type { FrameDeps } from '../frame-deps.ts';
import type { OperationResult, Params } from './operation.ts';
import { limit, readParams, text, time } from './params.ts';

/** Runs `history`: returns pending and settled messages in the order of their creation. */
export async function history(params: Params, { store }: Pick<FrameDeps, 'store'>): OperationResult {
  const read = readParams(
    params,
    { since: time },
    { until: time, agent: text, correlation_id: text, limit, cursor: text },
  );
  if ('refusal' in read) return read;
  const { since, until, agent, correlation_id: correlationId, limit: most = 200, cursor } = read.values;
  const page = await store.history({
    since,
    limit: most,
    ...(until !== undefined && { until }),
    ...(agent !== undefined && { agent }),
    ...(correlationId !== undefined && { correlationId }),
    ...(cursor !== undefined && { cursor }),
  });
  return {
    result: {
      messages: page.entries.map(describeEntry),
      ...(page.cursor !== undefined && { cursor: page.cursor }),
    },
  };
}

/** Runs `audit`: returns rows of the audit log, oldest first. */
export async function audit(params: Params, { audit: log }: Pick<FrameDeps, 'audit'>): OperationResult {
  const read = readParams(params, { since: time }, { limit });
  if ('refusal' in read) return read;
  const rows = await log.query(read.values.since, read.values.limit ?? 200);
  return { result: { rows: rows.map(describeRow) } };
}

/** Runs `stats`: returns the number of connections and leases, and the bytes that are stored. */
export async function stats(
  _params: Params,
  deps: Pick<FrameDeps, 'store' | 'connected' | 'delivery' | 'receiptMeans'>,
): OperationResult {
  const { store, connected, delivery, receiptMeans } = deps;
  const { usedBytes, maxBytes } = await store.usage();
  return {
    result: {
      connections: connected.size,
      leases: delivery.leaseCount,
      used_bytes: usedBytes,
      max_bytes: maxBytes,
      receipt_means: receiptMeans,
    },
  };
}

function describeEntry(entry: HistoryEntry): Record<string, unknown> {
  const { seq, inbox, id, sender, kind, correlationId, createdAt, size, settled } = entry;
  return {
    seq,
    inbox,
    id,
    from_agent: sender,
    kind,
    ...(correlationId !== undefined && { correlation_id: correlationId }),
    created_at: createdAt,
    ...(settled && {
      settled_at: settled.at,
      outcome: settled.outcome,
      ...(settled.reason !== undefined && { reason: settled.reason }),
    }),
    size,
  };
}

function describeRow(row: AuditRow): Record<string, unknown> {
  const { minute, tokenId, agent, code, count, firstAt, lastAt, detail } = row;
  return {
    minute,
    ...(tokenId !== undefined && { token_id: tokenId }),
    ...(agent !== undefined && { agent }),
    code,
    count,
    first_at: firstAt,
    last_at: lastAt,
    detail,
  };
}
