import { type AdminParams, frameDefaults, isPrivileged } from '@signalbox/protocol';
import type { NewMessage, TokenRecord } from '@signalbox/store';
import { maySendTo } from '../../auth/role-policy.ts';
import { brokerSender, sentByBroker } from '../../core/broker-sender.ts';
import type { Delivery } from '../../core/delivery.ts';
import type { DeliverResult } from '../../core/producer.ts';
import { hasInbox } from '../deliver/recipient.ts';
import type { FrameDeps } from '../frame-deps.ts';
import { revokedToken } from './remove-token.ts';

/** The dependencies of {@link tellWorkerExit}. */
export type WorkerExitDeps = Pick<
  FrameDeps,
  'connected' | 'delivery' | 'talk' | 'policies' | 'agents' | 'store' | 'now'
>;

/** The most ids that the event lists. */
const maxHeldIds = 100;
/** The time in which other brokers report the messages that the worker had, in milliseconds. */
const answerMs = 2000;

/** A worker whose process has ended. */
export type WorkerThatEnded = Pick<TokenRecord, 'id' | 'agent'>;

/**
 * Ends the connections of a worker to this broker, counts an attempt of each message that it had, and returns the ids of these. Rejects if
 * a commit fails.
 */
export async function leaveBehind(
  { id, agent }: WorkerThatEnded,
  { connected, delivery }: Pick<FrameDeps, 'connected' | 'delivery'>,
): Promise<string[]> {
  connected.endWhere(({ token }) => token.id === id, revokedToken);
  delivery.subscriptions.processEnded(id);
  return delivery.held.leftBehind(agent, id, maxHeldIds);
}

/** The end of a worker's process: its exit code or the signal that ended it, and the agent to notify, if there is one. */
export type WorkerExit = NonNullable<AdminParams<'token_revoke'>['exited']>;

/**
 * Makes each broker end the worker's connections and count an attempt of each message that it had. Stores an event for the agent to notify,
 * if one is named, exists, and the worker's role may send to it. Rejects if a commit fails.
 */
export async function tellWorkerExit(
  { id, agent, role }: TokenRecord,
  { tell, code, signal }: WorkerExit,
  deps: WorkerExitDeps,
): Promise<{ told?: boolean; held_ids: string[] }> {
  const { delivery, talk, policies, agents, store, now } = deps;
  const own = await leaveBehind({ id, agent }, deps);
  const { answers } = await talk.askAll<string[]>('worker_exited', { id, agent }, answerMs);
  const heldIds = [...new Set([...own, ...answers.flat()])].slice(0, maxHeldIds);
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
