import type { BrokerClient, Log } from '@signalbox/client';
import { type AuditReport, messageOf, type Sender } from '@signalbox/protocol';
import type { ApprovalRecord, StandingRecord } from '@signalbox/store/journal';
import { shownApproval } from './approval-record.ts';
import { redactedText } from './call-digests.ts';

/** Describes the events of approvals for the audit log. */
export const approvalEvents = {
  /** A call waits, or would have waited without a standing approval. */
  proposed({ id, agent, role, tool, server, requestId, rule, argumentsHash }: ApprovalRecord): AuditReport {
    const detail = `approval ${id}; arguments ${argumentsHash}`;
    return {
      code: 'call_proposed',
      ...{ agent, role, name: tool, rule, detail },
      ...callFields(server, requestId),
    };
  },
  /** An approval ended, by a decision or without one. */
  decided({ id, agent, role, tool, server, requestId, end }: ApprovalRecord): AuditReport {
    const { state = 'pending', by, reason } = end ?? {};
    const who = by ? ` by '${by.agent}' with token ${by.tokenId}` : '';
    const standing = by?.standing === undefined ? '' : ` (standing approval ${by.standing})`;
    const why = reason === undefined ? '' : `: ${reason}`;
    const detail = `approval ${id} of '${agent}' ${state}${who}${standing}${why}`;
    const about = { agent: by?.agent ?? agent, ...(by ? {} : { role }), name: tool, outcome: state, detail };
    return { code: 'approval_decided', ...about, ...callFields(server, requestId) };
  },
  /** An approved call is made. */
  started({ id, agent, role, tool, server, requestId }: ApprovalRecord): AuditReport {
    const about = { agent, role, name: tool, detail: `approval ${id}` };
    return { code: 'call_started', ...about, ...callFields(server, requestId) };
  },
  /** The reply to a call that waited is stored, or was refused. */
  answered(
    { id, agent, role, tool, server, requestId }: ApprovalRecord,
    how: 'stored' | 'waits' | 'refused',
  ): AuditReport {
    const about = { agent, role, name: tool, outcome: how, detail: `approval ${id}` };
    return { code: 'call_answered', ...about, ...callFields(server, requestId) };
  },
  /** A standing approval ended with the token that gave it. */
  standingEnded({ id, agent, tool, by }: StandingRecord): AuditReport {
    const detail = `standing approval ${id} of '${agent}' for '${tool}' ended: token ${by.tokenId} of '${by.agent}' decides no more`;
    return { code: 'standing_approval_revoked', agent: by.agent, name: tool, detail };
  },
  /** Somebody revoked a standing approval. */
  standingRevoked({ id, agent, tool }: StandingRecord, asker: Sender): AuditReport {
    const detail = `standing approval ${id} of '${agent}' for '${tool}'`;
    return { code: 'standing_approval_revoked', agent: asker.agent, role: asker.role, name: tool, detail };
  },
};

function callFields(
  server: string | undefined,
  requestId: string,
): Pick<AuditReport, 'server' | 'request_id'> {
  return { ...(server !== undefined && { server }), request_id: requestId };
}

/** The longest text of arguments in a note, in characters. */
const maxArgumentLength = 4096;

/**
 * Sends agents and groups a note of a call that waits for a decision. It has no value that is a secret by its name or form, because a note
 * goes to others than those who decide. A note that can't be sent is logged.
 */
export function sendApprovalNotes(
  client: Pick<BrokerClient, 'deliver'>,
  record: ApprovalRecord,
  recipients: readonly string[],
  { now, log }: { now: () => number; log: Log },
): void {
  const { id, agent, role, tool } = record;
  const approval = shownApproval(
    {
      ...record,
      arguments: redactedText(record.arguments).slice(0, maxArgumentLength),
      ...(record.meta !== undefined && { meta: redactedText(record.meta).slice(0, maxArgumentLength) }),
    },
    { withArguments: true },
  );
  const text = `${agent} (role ${role}) wants to call ${tool}${approval.host === undefined ? '' : ` on host ${approval.host}`}, which needs a decision. See all arguments: signalbox approvals show ${id}. Decide: signalbox approve ${id}, or signalbox deny ${id} --reason "…"`;
  const body = { text, approval };
  const ttlMs = Math.max(1, record.deadlineAt - now());
  for (const to of recipients) {
    client.deliver({ to, kind: 'note', id: `approval-${id}`, body, ttlMs }).catch((thrown) => {
      log({ event: 'approval_not_told', to, approval: id, reason: messageOf(thrown) });
    });
  }
}
