import type { FollowHoldsFrame, FollowRightsFrame, HoldsKnownFrame } from '@signalbox/protocol';
import type { Caller } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import type { Outcome } from './outcome.ts';

/** Handles `follow_holds`: sends an orchestrator the current holds, now and after each change. */
export function followHolds(
  _frame: FollowHoldsFrame,
  { sender, consumer }: Caller,
  { holds }: Pick<FrameDeps, 'holds'>,
): Outcome {
  if (sender.role === 'orchestrator') return { answer: holds.follow(consumer) };
  const message = `'follow_holds' is for orchestrators, and your role is '${sender.role}'`;
  return { refusal: { code: 'forbidden', message, field: 'type' } };
}

/** Handles `holds_known`: notes the holds that an orchestrator has applied. */
export function holdsKnown(
  { version }: HoldsKnownFrame,
  { sender, consumer }: Caller,
  { holds }: Pick<FrameDeps, 'holds'>,
): Outcome {
  if (sender.role === 'orchestrator') {
    holds.known(consumer, version);
    return undefined;
  }
  const message = `'holds_known' is for orchestrators, and your role is '${sender.role}'`;
  return { refusal: { code: 'forbidden', message, field: 'type' } };
}

/** Handles `follow_rights`: tells the caller of changes of its own rights and those of the agents that it names. */
export function followRights(
  { agents }: FollowRightsFrame,
  { sender, consumer }: Caller,
  { rights }: Pick<FrameDeps, 'rights'>,
): Outcome {
  rights.set(consumer, new Set([sender.agent, ...agents]));
  return undefined;
}
