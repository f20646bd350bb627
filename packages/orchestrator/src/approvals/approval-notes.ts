import type { BrokerClient, Log } from '@signalbox/client';
import { messageOf } from '@signalbox/protocol';
import type { ApprovalRecord } from '@signalbox/store/journal';
import { shownApproval } from './approval-record.ts';
import { redactedText } from './call-digests.ts';

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
  const text = `${agent} (role ${role}) wants to call ${tool}, which needs a decision. See all arguments: signalbox approvals show ${id}. Decide: signalbox approve ${id}, or signalbox deny ${id} --reason "…"`;
  const body = { text, approval };
  const ttlMs = Math.max(1, record.deadlineAt - now());
  for (const to of recipients) {
    client.deliver({ to, kind: 'note', id: `approval-${id}`, body, ttlMs }).catch((thrown) => {
      log({ event: 'approval_not_told', to, approval: id, reason: messageOf(thrown) });
    });
  }
}
