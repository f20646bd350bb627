import { agentOf } from '@signalbox/protocol';
import { nearestNames } from '../auth/nearest-names.ts';
import { mayList } from '../auth/role-policy.ts';
import type { Session } from '../session/session.ts';
import type { SessionContext } from './context.ts';

/** True if messages wait at this address, or for its agent: somebody wrote to it when it was known. */
export async function hasInbox(context: SessionContext, address: string): Promise<boolean> {
  for (const inbox of new Set([address, agentOf(address)])) {
    if ((await context.store.stats(inbox)).pending > 0) return true;
  }
  return false;
}

/** Says that nobody has this name, and who may have been meant among those that the sender may know of. */
export function unknownRecipient(session: Session, context: SessionContext, agent: string): string {
  const near =
    context.suggestions.take(context.now()) === 0 ? nearestNames(agent, visible(session, context)) : [];
  const meant = near.length > 0 ? `; did you mean ${near.map((name) => `'${name}'`).join(' or ')}?` : '';
  return `no agent '${agent}' has a token or ever connected${meant}`;
}

function* visible(session: Session, context: SessionContext): Generator<string> {
  const names = new Set<string>();
  for (const { agent, role } of context.tokens.liveAgents()) {
    if (names.has(agent) || !(session.isOperator || mayList(session.policy, role))) continue;
    names.add(agent);
    yield agent;
  }
}
