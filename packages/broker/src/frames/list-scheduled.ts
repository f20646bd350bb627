import {
  frameDefaults,
  type ListScheduledFrame,
  operationPermissions,
  type ScheduledMessageInfo,
} from '@signalbox/protocol';
import type { ScheduledMessage } from '@signalbox/store';
import { type Caller, mayDo } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import type { Outcome } from './outcome.ts';

/** Handles `list_scheduled`: returns messages that are not due: those of the caller, or of any sender for the operator. */
export async function listScheduled(
  { request_id, to, sender, limit = frameDefaults.peekMessages, cursor }: ListScheduledFrame,
  caller: Caller,
  { store, time }: Pick<FrameDeps, 'store' | 'time'>,
): Promise<Outcome> {
  const own = caller.sender.agent;
  const seesAll = mayDo(caller, operationPermissions.frame.list_scheduled);
  if (!seesAll && sender !== undefined && sender !== own) {
    const message = `field 'sender': you are '${own}', and see only what you sent`;
    return { refusal: { code: 'not_yours', message, field: 'sender' } };
  }
  const page = await store.scheduled.list({ inbox: to, sender: seesAll ? sender : own, limit, cursor });
  const { earliest } = time.look();
  return {
    answer: {
      type: 'scheduled',
      request_id,
      messages: page.messages.map((message) => describe(message, earliest)),
      ...(page.cursor !== undefined && { cursor: page.cursor }),
    },
  };
}

function describe(message: ScheduledMessage, now: number): ScheduledMessageInfo {
  const { id, sender, senderAddress, senderRole, inbox, kind, correlationId, group, thread, createdAt } =
    message;
  return {
    id,
    from: { agent: sender, address: senderAddress, role: senderRole },
    to: inbox,
    kind,
    ...(correlationId !== undefined && { correlation_id: correlationId }),
    ...(group?.copyOf !== undefined && { group: group.copyOf }),
    ...(group?.key !== undefined && { group_key: group.key }),
    ...(thread !== undefined && { thread }),
    sent_at: message.sentAt,
    due_at: createdAt,
    due_in_ms: Math.max(0, Math.ceil(createdAt - now)),
    size: message.size,
  };
}
