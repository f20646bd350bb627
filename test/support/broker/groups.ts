import type { WireClient } from '@signalbox/testing';
import { deliver } from './wire-actions.ts';

export const group = 'role:writer';

/** Sends notes one after the other. */
export async function send(alice: WireClient, ids: readonly string[], fields: Record<string, unknown> = {}) {
  for (const id of ids) await deliver(alice, group, id, { kind: 'note', ...fields });
}

export async function nextId(member: WireClient): Promise<unknown> {
  return (await member.next('message')).id;
}

export function idsOf(member: WireClient): unknown[] {
  return member.received.filter(({ type }) => type === 'message').map(({ id }) => id);
}

/** Sends a frame and returns the code of its refusal, or the type of its answer. */
export async function answerTo(
  client: WireClient,
  frame: Record<string, unknown>,
  body?: string,
): Promise<unknown> {
  client.send({ request_id: 'r', ...frame }, body);
  const ids = frame.id === undefined ? { request_id: 'r' } : { id: frame.id };
  const types = ['error', 'subscribed', 'delivered', 'peeked', 'connected'];
  const { type, code, field } = await client.next(types, ids);
  return type === 'error' ? [code, field] : type;
}
