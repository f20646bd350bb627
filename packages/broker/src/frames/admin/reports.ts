import {
  type AdminParams,
  type AdminResult,
  auditEntryKinds,
  furtherCosts,
  isGroup,
  operationPermissions,
} from '@signalbox/protocol';
import type { HistoryEntry, LivingBroker } from '@signalbox/store';
import { type Caller, mayDo } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { OperationOutcome } from './operation.ts';

/** Runs `history`: returns pending and settled messages in the order of their creation, or the newest first. */
export async function history(
  params: AdminParams<'history'>,
  { store }: Pick<FrameDeps, 'store'>,
): OperationOutcome<'history'> {
  const { since, until, agent, correlation_id: correlationId, newest_first, limit = 200, cursor } = params;
  const page = await store.history({
    since,
    limit,
    ...(until !== undefined && { until }),
    ...(agent !== undefined && { agent }),
    ...(correlationId !== undefined && { correlationId }),
    ...(newest_first !== undefined && { newestFirst: newest_first }),
    ...(cursor !== undefined && { cursor }),
  });
  return {
    result: {
      messages: page.entries.map(describeEntry),
      ...(page.cursor !== undefined && { cursor: page.cursor }),
    },
  };
}

/**
 * Runs `audit`: returns entries of the audit log in the order in which they were recorded, or in the reverse one. A caller that may not read
 * the log gets those that it reported itself.
 */
export async function audit(
  { since, kinds = [...auditEntryKinds], limit = 200, after, before }: AdminParams<'audit'>,
  { audit: log }: Pick<FrameDeps, 'audit'>,
  caller: Caller,
): OperationOutcome<'audit'> {
  const rows = await log.read({
    ...{ since, kinds, limit },
    ...(after !== undefined && { after }),
    ...(before !== undefined && { before }),
  });
  const { agent } = caller.sender;
  const seen = mayDo(caller, operationPermissions.admin.audit)
    ? rows
    : rows.filter(({ entry }) => JSON.parse(entry).reported_by === agent);
  return { result: { rows: seen, ...(rows.length === limit && { next: rows.at(-1)!.number }) } };
}

/** Runs `audit_chain`: returns rows of one chain of the audit log, and the ends of the chain. */
export async function auditChain(
  { kind, after = 0, limit = 200 }: AdminParams<'audit_chain'>,
  { audit: log }: Pick<FrameDeps, 'audit'>,
): OperationOutcome<'audit_chain'> {
  return { result: await log.readChain(kind, after, limit) };
}

/** Runs `waiting`: lists agents with messages in their inboxes. */
export async function waiting(
  { connected: wanted, limit = 200, cursor = '' }: AdminParams<'waiting'>,
  {
    store,
    connected,
    presence,
    tokens,
    groups,
  }: Pick<FrameDeps, 'store' | 'connected' | 'presence' | 'tokens' | 'groups'>,
  { budget }: Caller,
): OperationOutcome<'waiting'> {
  budget.spendFrames(limit * furtherCosts.waitingAgent);
  const page = await store.waiting(cursor, limit);
  const elsewhere = await presence.connectedElsewhere(page.agents.map(({ agent }) => agent));
  const agents = page.agents.map(({ agent, pending, oldestAt }) => ({
    agent,
    roles: isGroup(agent) ? [...groups.rolesIn(agent)] : [...tokens.rolesOf(agent)].sort(),
    connected: connected.ofAgent(agent) > 0 || elsewhere.has(agent),
    pending,
    oldest_at: oldestAt,
  }));
  return {
    result: {
      agents: agents.filter((one) => wanted === undefined || one.connected === wanted),
      ...(page.cursor !== undefined && { cursor: page.cursor }),
    },
  };
}

/** Runs `failures`: lists the agents whose programs ended with a failure. */
export async function failures(
  _params: AdminParams<'failures'>,
  { programs }: Pick<FrameDeps, 'programs'>,
): OperationOutcome<'failures'> {
  return { result: { agents: programs.list() } };
}

/** Runs `stats`: counts connections, leases and messages, and returns the stored and the free bytes. */
export async function stats(
  _params: AdminParams<'stats'>,
  deps: Pick<
    FrameDeps,
    'store' | 'connected' | 'presence' | 'delivery' | 'receiptMeans' | 'self' | 'metrics'
  >,
): OperationOutcome<'stats'> {
  const { store, connected, presence, delivery, receiptMeans, self, metrics } = deps;
  const { broker } = presence;
  const { usedBytes, maxBytes } = await store.usage();
  const { pending, oldestAt, dead, scheduled } = await store.backlog();
  return {
    result: {
      version: self.version,
      started_at: self.startedAt,
      ...(broker !== undefined && { broker, brokers: (await presence.brokers()).map(describeBroker) }),
      connections: connected.size,
      leases: delivery.leaseCount,
      pending,
      ...(oldestAt !== undefined && { oldest_pending_at: oldestAt }),
      dead_letters: dead,
      scheduled,
      used_bytes: usedBytes,
      max_bytes: maxBytes,
      disk_bytes: await self.diskBytes(),
      free_bytes: await self.freeBytes(),
      receipt_means: receiptMeans,
      activity: metrics.activity(),
    },
  };
}

/** Runs `samples`: returns how metrics of this broker were, from its own samples. */
export async function readSamples(
  query: AdminParams<'samples'>,
  { samples, presence: { broker } }: Pick<FrameDeps, 'samples' | 'presence'>,
): OperationOutcome<'samples'> {
  return { result: { ...(broker !== undefined && { process: broker }), ...(await samples.read(query)) } };
}

/** Converts a broker to the form of the protocol. */
function describeBroker({ name, since, isLinked }: LivingBroker): {
  name: string;
  since: number;
  linked?: boolean;
} {
  return { name, since, ...(isLinked !== undefined && { linked: isLinked }) };
}

function describeEntry(entry: HistoryEntry): AdminResult<'history'>['messages'][number] {
  const { seq, inbox, id, sender, kind, correlationId, thread, createdAt, size, settled } = entry;
  return {
    seq,
    inbox,
    id,
    from_agent: sender,
    kind,
    ...(correlationId !== undefined && { correlation_id: correlationId }),
    ...(thread !== undefined && { thread }),
    created_at: createdAt,
    ...(settled && {
      settled_at: settled.at,
      outcome: settled.outcome,
      ...(settled.reason !== undefined && { reason: settled.reason }),
    }),
    size,
  };
}
