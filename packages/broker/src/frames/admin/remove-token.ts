import type { TokenRecord } from '@signalbox/store';
import { type Caller, callerEvent } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';

/** Returns the text that tells a connection why it ends. */
export const revokedToken = (): string => 'the token of this connection was revoked';

/** Removes a token and its child tokens, ends their connections and gives up their requests. Returns the ids of the removed tokens. */
export async function removeToken(
  record: TokenRecord,
  deps: Pick<FrameDeps, 'tokens' | 'connected' | 'delivery' | 'now'>,
  caller: Pick<Caller, 'token' | 'sender'>,
): Promise<string[]> {
  const { id, agent, role } = record;
  const eventOf = (gone: readonly string[]) => {
    const issued = gone.filter((one) => one !== id).length;
    const detail = `token ${id} of '${agent}' with role '${role}'${issued > 0 ? `, and ${issued} that it issued` : ''}`;
    return callerEvent(caller, 'token_revoked', { detail, name: agent }, deps.now());
  };
  const removed = await deps.tokens.revoke(id, eventOf);
  await endRevoked(removed, deps);
  return removed;
}

/** Ends the connections that have the name of an agent which has just become an orchestrator, and another role. */
export function endOtherRoles(
  agent: string,
  { connected, tokens }: Pick<FrameDeps, 'connected' | 'tokens'>,
): void {
  connected.endWhere(
    ({ sender }) => sender.agent === agent && tokens.refuseRole(agent, sender.role) !== undefined,
    ({ sender }) => tokens.refuseRole(agent, sender.role)!,
  );
}

/** Ends the connections with revoked tokens, and gives up the requests that were sent with them. */
export async function endRevoked(
  ids: readonly string[],
  { connected, delivery }: Pick<FrameDeps, 'connected' | 'delivery'>,
): Promise<void> {
  const gone = new Set(ids);
  connected.endWhere(({ token }) => gone.has(token.id), revokedToken);
  for (const id of ids)
    await delivery.cancellations.cancelSentWith(id, 'the token it was sent with was revoked');
}
