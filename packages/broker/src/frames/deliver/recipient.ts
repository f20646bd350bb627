import { agentOf, type DeliverFrame, isGroup, isPrivileged, operationPermissions } from '@signalbox/protocol';
import { nearestNames } from '@signalbox/protocol/internal';
import type { InboxStore } from '@signalbox/store';
import { mayList, maySendTo } from '../../auth/role-policy.ts';
import type { TokenRegistry } from '../../auth/token-registry.ts';
import { type Caller, mayDo } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { Refusal } from '../outcome.ts';

/** Tells whether this inbox, or that of its agent, has waiting messages. If so, the agent was known when they were sent. */
export async function hasInbox(address: string, store: Pick<InboxStore, 'stats'>): Promise<boolean> {
  for (const inbox of new Set([address, agentOf(address)])) {
    if ((await store.stats(inbox)).pending > 0) return true;
  }
  return false;
}

/**
 * Tells whether a message for a sub-inbox without a holder would wait at an orchestrator or operator. Nobody would ever read it, and it
 * would count against the agent to which a whole fleet writes.
 */
export function isPileNobodyReads(
  { to, ephemeral }: Pick<DeliverFrame, 'to' | 'ephemeral'>,
  caller: Pick<Caller, 'isPrivileged'>,
  { tokens }: Pick<FrameDeps, 'tokens'>,
): boolean {
  if (ephemeral || caller.isPrivileged) return false;
  const agent = agentOf(to);
  return isPrivileged(agent) || [...tokens.rolesOf(agent)].some(isPrivileged);
}

/** Refuses a message to a sub-inbox that nobody holds. */
export function nobodyHolds(to: string): Refusal {
  const message = `nobody holds the inbox '${to}'; write to '${agentOf(to)}'`;
  return { code: 'unknown_recipient', message, field: 'to' };
}

/** Refuses a message to a configured sender that answers nothing. */
export function readsNothing(to: string): Refusal {
  const message = `'${to}' is a webhook or a schedule: it sends messages and reads none`;
  return { code: 'unknown_recipient', message, field: 'to' };
}

/** Refuses an ephemeral message without a consumer. */
export function noConsumer(to: string): Refusal {
  if (!isGroup(to)) return { code: 'no_consumer', message: `nobody holds the inbox '${to}' now` };
  const message = `field 'ephemeral': '${to}' is a group; an ephemeral message goes to one agent`;
  return { code: 'bad_frame', message, field: 'ephemeral' };
}

/** Tells whether a caller may know about a group: it may send to the group, or take messages of it. */
export function mayKnowGroup(
  group: string,
  { sender, policy }: Pick<Caller, 'sender' | 'policy'>,
  groups: FrameDeps['groups'],
): boolean {
  return isPrivileged(sender.role) || maySendTo(policy, group) || groups.isMember(group, sender.role);
}

/** Refuses a frame that names an unknown group. It suggests similar names of groups that the caller may know. */
export function unknownGroup(
  group: string,
  caller: Pick<Caller, 'sender' | 'policy'>,
  { groups, suggestions, monotonic }: Pick<FrameDeps, 'groups' | 'suggestions' | 'monotonic'>,
  field: 'to' | 'address' = 'to',
): Refusal {
  const known = (): string[] => [...groups.addresses()].filter((one) => mayKnowGroup(one, caller, groups));
  const near = suggestions.take(monotonic()) === 0 ? nearestNames(group, known()) : [];
  const message = `there is no group '${group}': neither the configuration nor a token names it${didYouMean(near)}`;
  return { code: 'unknown_recipient', message, field };
}

/**
 * Returns the message of a refusal for an unknown agent. It suggests the groups that have the name, or similar names of agents that the
 * caller may list.
 */
export function unknownRecipient(
  agent: string,
  caller: Caller,
  {
    groups,
    tokens,
    suggestions,
    monotonic,
  }: Pick<FrameDeps, 'groups' | 'tokens' | 'suggestions' | 'monotonic'>,
): string {
  const isGroupNamed = (group: string): boolean => groups.has(group) && mayKnowGroup(group, caller, groups);
  const meant = [`role:${agent}`, `group:${agent}`].filter(isGroupNamed);
  const nearest = (): string[] =>
    suggestions.take(monotonic()) === 0 ? nearestNames(agent, visibleAgents(caller, tokens)) : [];
  const near = meant.length > 0 ? meant : nearest();
  return `no agent '${agent}' has a token or ever connected${didYouMean(near)}`;
}

/** Names the similar names, if there are any. */
export function didYouMean(near: readonly string[]): string {
  return near.length > 0 ? `; did you mean ${near.map((name) => `'${name}'`).join(' or ')}?` : '';
}

function* visibleAgents(caller: Caller, tokens: TokenRegistry): Generator<string> {
  const names = new Set<string>();
  const seesAll = mayDo(caller, operationPermissions.frame.list_connected);
  for (const { agent, role } of tokens.liveAgents()) {
    if (names.has(agent) || !(seesAll || mayList(caller.policy, role))) continue;
    names.add(agent);
    yield agent;
  }
}
