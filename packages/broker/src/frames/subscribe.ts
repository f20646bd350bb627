import { frameDefaults, type SubscribeFrame } from '@signalbox/protocol';
import type { Caller } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import type { Outcome } from './outcome.ts';

/** Handles `subscribe`: gives the caller the lease on its inbox, whose messages are pushed behind the answer. */
export async function subscribe(
  frame: SubscribeFrame,
  caller: Caller,
  { delivery }: Pick<FrameDeps, 'delivery'>,
): Promise<Outcome> {
  const subscription = await delivery.subscriptions.subscribe(caller.sender.address, caller.consumer, {
    window: frame.window ?? frameDefaults.windowMessages,
    windowBytes: frame.window_bytes ?? frameDefaults.windowBytes,
    ...(frame.journal && { journal: frame.journal }),
    tokenId: caller.token.id,
    ...(frame.consumer_id !== undefined && { consumerId: frame.consumer_id }),
    ...(frame.ack_deadline_ms !== undefined && { ackDeadlineMs: frame.ack_deadline_ms }),
  });
  if (!subscription) return undefined;
  const { lease, pending, headSeq, foreignUpTo } = subscription;
  return {
    answer: {
      type: 'subscribed',
      request_id: frame.request_id,
      lease: lease.id,
      pending,
      head_seq: headSeq,
      ...(frame.journal && { journal: { generation: frame.journal.next, foreign_up_to: foreignUpTo } }),
    },
    behindMessages: true,
    afterwards: () => delivery.subscriptions.start(lease),
  };
}
