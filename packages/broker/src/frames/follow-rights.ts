import type { FollowRightsFrame } from '@signalbox/protocol';
import type { Caller } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import type { Outcome } from './outcome.ts';

/** Handles `follow_rights`: tells the caller of changes of its own rights and those of the agents that it names. */
export function followRights(
  { agents }: FollowRightsFrame,
  { sender, consumer }: Caller,
  { rights }: Pick<FrameDeps, 'rights'>,
): Outcome {
  rights.set(consumer, new Set([sender.agent, ...agents]));
  return undefined;
}
