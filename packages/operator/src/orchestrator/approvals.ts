import type { BrokerClient } from '@signalbox/client';
import { type Approval, type DecideReply, SignalboxError, type StandingApproval } from '@signalbox/protocol';
import { queryOrchestrator } from './orchestrator-request.ts';

/** Selects approvals. */
export interface ApprovalListQuery {
  /** Also those that have ended. */
  all?: boolean;
  limit: number;
}

const pageSize = 100;

/** Lists approvals, newest first; `more` says whether there are others beyond the limit. */
export async function listApprovals(
  client: BrokerClient,
  orchestrator: string,
  { all = false, limit }: ApprovalListQuery,
): Promise<{ approvals: Approval[]; more: boolean }> {
  const approvals: Approval[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await queryOrchestrator(client, orchestrator, {
      op: 'approvals',
      all,
      limit: Math.min(pageSize, limit - approvals.length),
      ...(cursor !== undefined && { cursor }),
    });
    approvals.push(...page.approvals);
    cursor = page.cursor;
    if (cursor === undefined) return { approvals, more: false };
    if (approvals.length >= limit) return { approvals, more: true };
  }
}

/** Reads one approval, also one that has ended. */
export async function readApproval(
  client: BrokerClient,
  orchestrator: string,
  id: string,
): Promise<Approval> {
  const { approvals } = await queryOrchestrator(client, orchestrator, { op: 'approvals', id });
  const [approval] = approvals;
  if (approval) return approval;
  throw new SignalboxError('bad_body', `the orchestrator did not answer which approval '${id}' is`);
}

/** Decides on a call that waits. `decided` is false if it had ended before, so that this decision changed nothing. */
export async function decideApproval(
  client: BrokerClient,
  orchestrator: string,
  id: string,
  decision: { verdict: 'approve' | 'deny'; reason?: string; forMs?: number },
): Promise<DecideReply> {
  const { verdict, reason, forMs } = decision;
  return await queryOrchestrator(client, orchestrator, {
    op: 'decide',
    id,
    verdict,
    ...(reason !== undefined && { reason }),
    ...(forMs !== undefined && { for_ms: forMs }),
  });
}

/** Lists the standing approvals that are in force. */
export async function listStandingApprovals(
  client: BrokerClient,
  orchestrator: string,
): Promise<StandingApproval[]> {
  return (await queryOrchestrator(client, orchestrator, { op: 'standing_approvals' })).standing;
}

/** Ends a standing approval, and returns what it was. */
export async function revokeStandingApproval(
  client: BrokerClient,
  orchestrator: string,
  id: string,
): Promise<StandingApproval> {
  return (await queryOrchestrator(client, orchestrator, { op: 'revoke_standing', id })).revoked;
}
