import { type AdminParams, frameDefaults, isPrivileged } from '@signalbox/protocol';
import type { NewMessage, TokenRecord } from '@signalbox/store';
import { maySendTo } from '../../auth/role-policy.ts';
import { brokerSender, sentByBroker } from '../../core/broker-sender.ts';
import type { Delivery } from '../../core/delivery.ts';
import type { DeliverResult } from '../../core/producer.ts';
import { hasInbox } from '../deliver/recipient.ts';
import type { FrameDeps } from '../frame-deps.ts';

/** The dependencies of {@link tellWorkerExit}. */
export type WorkerExitDeps = Pick<FrameDeps, 'delivery' | 'policies' | 'agents' | 'store' | 'now'>;

/** The most ids that the event lists. */
const maxHeldIds = 100;

/** The end of a worker's process: its exit code or the signal that ended it, and the agent that is told, if one is. */
export type WorkerExit = NonNullable<AdminParams<'token_revoke'>['exited']>;

/**
 * Counts an attempt of each message that the worker had in hand, and stores an event for the agent that is to be told, if one is
 * named, exists, and the worker's role may send to it. The caller has ended the worker's connections before. Rejects if a commit
 * fails.
 */
export async function tellWorkerExit(
  { id, agent, role }: TokenRecord,
  { tell, code, signal }: WorkerExit,
  { delivery, policies, agents, store, now }: WorkerExitDeps,
): Promise<{ told?: boolean; held_ids: string[] }> {
  delivery.subscriptions.processEnded(id);
  const heldIds = await delivery.held.leftBehind(agent, id, maxHeldIds);
  if (tell === undefined) return { held_ids: heldIds };
  const allowed = isPrivileged(role) || maySendTo(policies[role], tell);
  const exists = agents.has(tell) || (await hasInbox(tell, store));
  if (!allowed || !exists) return { told: false, held_ids: heldIds };
  const createdAt = now();
  const body = { event: 'worker_exited', agent, role, code, signal, held_ids: heldIds };
  const event: NewMessage = {
    inbox: tell,
    id: `exited:${id}`,
    ...sentByBroker,
    kind: 'event',
    createdAt,
    expiresAt: createdAt + frameDefaults.ttlMs,
    body: JSON.stringify(body),
  };
  return { told: await storeEvent(event, delivery), held_ids: heldIds };
}

/** Stores the event. Resolves with false if the inbox has no room. A repeated event counts as stored. */
function storeEvent(event: NewMessage, delivery: Delivery): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const answer = (_event: NewMessage, stored: DeliverResult): void => {
      if (stored.result === 'failed') reject(stored.error);
      else resolve(['stored', 'duplicate', 'id_conflict'].includes(stored.result));
    };
    delivery.deliver(event, { sender: brokerSender, answer });
  });
}
