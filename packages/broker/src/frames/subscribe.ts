import { frameDefaults, memberAddress, type SubscribeFrame } from '@signalbox/protocol';
import type { Subscription } from '../core/subscriptions.ts';
import type { Caller } from './caller.ts';
import { mayKnowGroup, unknownGroup } from './deliver/recipient.ts';
import type { FrameDeps } from './frame-deps.ts';
import { badField, type Outcome } from './outcome.ts';

type Deps = Pick<FrameDeps, 'delivery' | 'groups' | 'suggestions' | 'monotonic'>;

/** Handles `subscribe`: gives the caller the lease on its inbox, or makes it a member of a group. Messages are pushed after the answer. */
export async function subscribe(frame: SubscribeFrame, caller: Caller, deps: Deps): Promise<Outcome> {
  const { delivery } = deps;
  if (frame.address !== undefined || frame.shared) return join(frame, caller, deps);
  if (frame.window === 0)
    return { refusal: badField('window', 'must be at least 1; only in a group may it be 0') };
  const subscription = await delivery.subscriptions.subscribe(caller.sender.address, caller.consumer, {
    window: frame.window ?? frameDefaults.windowMessages,
    windowBytes: frame.window_bytes ?? frameDefaults.windowBytes,
    ...(frame.journal && { journal: frame.journal }),
    tokenId: caller.token.id,
    holder: { agent: caller.sender.agent, role: caller.sender.role },
    ...(frame.consumer_id !== undefined && { consumerId: frame.consumer_id }),
    ...(frame.ack_deadline_ms !== undefined && { ackDeadlineMs: frame.ack_deadline_ms }),
  });
  return answer(frame, subscription, delivery);
}

/** Makes the caller a member of a group, which shares the group's inbox with the others. */
async function join(frame: SubscribeFrame, caller: Caller, deps: Deps): Promise<Outcome> {
  const { sender, token, consumer } = caller;
  const { delivery, groups } = deps;
  const { address, ack_deadline_ms: ackDeadlineMs } = frame;
  if (address === undefined)
    return { refusal: badField('address', 'names the group that is shared; add it') };
  if (!frame.shared) return { refusal: badField('shared', `'${address}' is a group; set it to true`) };
  if (ackDeadlineMs === undefined) {
    const why = 'a member must settle or renew what it has in a time; set it, as in 60000';
    return { refusal: badField('ack_deadline_ms', why) };
  }
  if (frame.journal) return { refusal: badField('journal', 'a group has none; leave it out') };
  if (!sender.address.startsWith(memberAddress(sender.agent))) {
    const why = `a member has a connection of its own; say hello as '${memberAddress(sender.agent)}…'`;
    return { refusal: badField('address', why) };
  }
  if (!groups.isMember(address, sender.role)) {
    if (!groups.has(address) && mayKnowGroup(address, caller, groups))
      return { refusal: unknownGroup(address, caller, deps, 'address') };
    const own = groups.of(sender.role).map((group) => `'${group}'`);
    const message = `the group '${address}' is not for your role '${sender.role}'; you may take messages of ${own.join(' and ')}`;
    return { refusal: { code: 'forbidden', message, field: 'address' } };
  }
  const subscription = await delivery.subscriptions.join(address, consumer, {
    window: frame.window ?? frameDefaults.groupWindowMessages,
    windowBytes: frame.window_bytes ?? frameDefaults.windowBytes,
    tokenId: token.id,
    ...(frame.consumer_id !== undefined && { consumerId: frame.consumer_id }),
    ackDeadlineMs,
    member: { agent: sender.agent, role: sender.role },
  });
  return answer(frame, subscription, delivery);
}

function answer(
  frame: SubscribeFrame,
  subscription: Subscription | undefined,
  delivery: FrameDeps['delivery'],
): Outcome {
  if (!subscription) return undefined;
  const { lease, pending, headSeq, journal } = subscription;
  return {
    answer: {
      type: 'subscribed',
      request_id: frame.request_id,
      lease: lease.id,
      pending,
      head_seq: headSeq,
      ...(frame.journal &&
        journal && {
          journal: {
            generation: frame.journal.next,
            foreign_up_to: journal.foreignUpTo,
            epoch: journal.epoch,
          },
        }),
    },
    behindMessages: true,
    afterwards: () => delivery.subscriptions.start(lease),
  };
}
