import type { BrokerClient } from '@signalbox/client';
import {
  type Approval,
  type BudgetUse,
  type CallRecord,
  type ConnectedAgent,
  type DecideReply,
  SignalboxError,
  type StandingApproval,
} from '@signalbox/protocol';
import { maxCalls } from './calls.ts';
import { queryOrchestrator } from './orchestrator-request.ts';

/** Selects approvals. */
export interface ApprovalListQuery {
  /** True: also the approvals that have ended. */
  all?: boolean;
  /** True: only the beginning of long arguments. */
  brief?: boolean;
  /** Continues where the earlier list ended. */
  cursor?: string;
  limit: number;
}

/** The time that the orchestrator has for each answer, in milliseconds; 10 s by default. */
export interface AnswerTime {
  timeoutMs?: number;
}

const pageSize = 100;

/** Lists approvals, newest first; `more` says whether there are others beyond the limit, to which `cursor` leads. */
export async function listApprovals(
  client: BrokerClient,
  orchestrator: string,
  { all = false, brief = false, cursor: start, limit }: ApprovalListQuery,
  time: AnswerTime = {},
): Promise<{ approvals: Approval[]; more: boolean; cursor?: string }> {
  const approvals: Approval[] = [];
  for (let cursor = start; ; ) {
    const query = {
      op: 'approvals' as const,
      all,
      limit: Math.min(pageSize, limit - approvals.length),
      ...(brief && { brief }),
      ...(cursor !== undefined && { cursor }),
    };
    const page = await queryOrchestrator(client, orchestrator, query, time);
    approvals.push(...page.approvals);
    cursor = page.cursor;
    if (cursor === undefined) return { approvals, more: false };
    if (approvals.length >= limit) return { approvals, more: true, cursor };
  }
}

/** Reads one approval, also one that has ended. */
export async function readApproval(
  client: BrokerClient,
  orchestrator: string,
  id: string,
  time: AnswerTime = {},
): Promise<Approval> {
  const { approvals } = await queryOrchestrator(client, orchestrator, { op: 'approvals', id }, time);
  const [approval] = approvals;
  if (approval) return approval;
  throw new SignalboxError('bad_body', `the orchestrator did not answer which approval '${id}' is`);
}

/** Decides on a waiting call. `decided` is false if the wait had ended before, so that this decision changed nothing. */
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
  time: AnswerTime = {},
): Promise<StandingApproval[]> {
  return (await queryOrchestrator(client, orchestrator, { op: 'standing_approvals' }, time)).standing;
}

/** Ends a standing approval, and returns it. */
export async function revokeStandingApproval(
  client: BrokerClient,
  orchestrator: string,
  id: string,
): Promise<StandingApproval> {
  return (await queryOrchestrator(client, orchestrator, { op: 'revoke_standing', id })).revoked;
}

/** The time to wait for an orchestrator, in milliseconds. */
const timeoutMs = 2000;

/** The calls of agents at orchestrators that have not ended, and how many calls wait for a person. */
export interface OpenCalls {
  waiting: number;
  calls: CallRecord[];
  /** The budgets of which something is used, those with the least left first. */
  budgets: BudgetUse[];
}

/** Reads the calls that wait or run at the orchestrators among these connections. `undefined` if none of them answers. */
export async function readOpenCalls(
  client: BrokerClient,
  connections: readonly Pick<ConnectedAgent, 'address' | 'role'>[],
): Promise<OpenCalls | undefined> {
  const orchestrators = connections.filter(({ role }) => role === 'orchestrator');
  const asked = await Promise.all(orchestrators.map(({ address }) => openCallsAt(client, address)));
  const answered = asked.filter((one) => one !== undefined);
  if (answered.length === 0) return undefined;
  return {
    waiting: answered.reduce((sum, { waiting }) => sum + waiting, 0),
    calls: answered.flatMap(({ calls }) => calls),
    budgets: answered.flatMap(({ budgets }) => budgets),
  };
}

async function openCallsAt(client: BrokerClient, orchestrator: string): Promise<OpenCalls | undefined> {
  const time = { timeoutMs };
  const open = { op: 'calls' as const, running: true, limit: maxCalls };
  try {
    const [{ approvals }, { calls, budgets = [] }] = await Promise.all([
      queryOrchestrator(client, orchestrator, { op: 'servers' }, time),
      queryOrchestrator(client, orchestrator, open, time),
    ]);
    return { waiting: approvals?.waiting ?? 0, calls, budgets };
  } catch (error) {
    if (error instanceof SignalboxError) return undefined;
    throw error;
  }
}
