import type { FollowHoldsFrame, FollowRightsFrame, HoldsKnownFrame } from '@signalbox/protocol';
import type { Caller } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import { forOrchestrators, type Outcome } from './outcome.ts';

/** Handles `follow_holds`: sends an orchestrator the current holds, now and after each change. */
export function followHolds(
  { type }: FollowHoldsFrame,
  { sender, consumer }: Caller,
  { holds }: Pick<FrameDeps, 'holds'>,
): Outcome {
  if (sender.role !== 'orchestrator') return { refusal: forOrchestrators(type, sender.role) };
  return { answer: holds.follow(consumer) };
}

/** Handles `holds_known`: notes the holds that an orchestrator has applied. */
export function holdsKnown(
  { type, version }: HoldsKnownFrame,
  { sender, consumer }: Caller,
  { holds }: Pick<FrameDeps, 'holds'>,
): Outcome {
  if (sender.role !== 'orchestrator') return { refusal: forOrchestrators(type, sender.role) };
  holds.known(consumer, version);
  return undefined;
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
