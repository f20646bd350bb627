import {
  agentOf,
  frameDefaults,
  furtherCosts,
  isGroup,
  type Message,
  operationPermissions,
  type PeekFrame,
} from '@signalbox/protocol';
import { type ExpiryTime, presentFor, type StoredMessage } from '@signalbox/store';
import { isAnswer } from '../core/message-header.ts';
import { auditCaller, type Caller, mayDo } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import type { Outcome } from './outcome.ts';

/** The most bytes of bodies in one answer. */
const peekBytes = 1024 * 1024;

/** Handles `peek`: returns messages that wait in an inbox of the caller, or in any inbox for the operator, without claiming them. */
export async function peek(
  frame: PeekFrame,
  caller: Caller,
  deps: Pick<FrameDeps, 'store' | 'time' | 'audit' | 'now' | 'delivery' | 'groups' | 'holds' | 'tokens'>,
): Promise<Outcome> {
  const { sender, budget } = caller;
  const address = frame.address ?? sender.address;
  const isOwn = agentOf(address) === sender.agent || deps.groups.isMember(address, sender.role);
  if (!mayDo(caller, operationPermissions.frame.peek) && !isOwn) {
    const message = isGroup(address)
      ? `the group '${address}' is not for your role '${sender.role}'`
      : `the inbox '${address}' is not yours; you may read '${sender.agent}' and its sub-inboxes`;
    return { refusal: { code: 'not_yours', message, field: 'address' } };
  }
  const { store, time, delivery } = deps;
  const limit = frame.limit ?? frameDefaults.peekMessages;
  const stored = await store.read(address, frame.after ?? 0, limit, peekBytes);
  const withBodies = frame.bodies ?? true;
  if (withBodies) {
    let bytes = 0;
    for (const { body } of stored) bytes += body?.length ?? 0;
    budget.spendFrames(bytes * furtherCosts.peekedByte);
  }
  // A further page that is empty tells nothing.
  if (!isOwn && withBodies && (stored.length > 0 || frame.after === undefined))
    auditCaller(caller, 'inbox_read', { detail: `${stored.length} messages`, name: address }, deps);
  time.look();
  // A damaged message is left out. It becomes a dead letter when it is handed out, or by housekeeping.
  const isOnHold = deps.holds.on(sender) !== undefined;
  // A caller on hold sees no mail that it was not handed before.
  const isShown = ({ damaged, kind, seq }: StoredMessage): boolean =>
    !damaged && (!isOnHold || isAnswer(kind) || delivery.held.has(address, seq));
  const messages = stored.filter(isShown).map((message) => ({
    ...asMessage(message, withBodies, time),
    ...(delivery.held.isWorkedOn(address, message.seq) && { working: true as const }),
  }));
  const heldBack = await heldBackOf(address, stored, caller, deps);
  return {
    answer: {
      ...{ type: 'peeked', request_id: frame.request_id, messages },
      ...(heldBack > 0 && { held_back: heldBack }),
    },
  };
}

/** The most messages of a held inbox among which the answers are counted: they do not wait for a release. */
const countedMessages = 1000;

/** Counts what waits in an inbox until a hold ends; of a group, among the messages that were read. */
async function heldBackOf(
  address: string,
  read: readonly StoredMessage[],
  caller: Caller,
  deps: Pick<FrameDeps, 'store' | 'delivery' | 'holds' | 'tokens'>,
): Promise<number> {
  const { store, delivery, holds } = deps;
  if (holds.all.length === 0) return 0;
  const isWaiting = ({ seq }: StoredMessage) => !delivery.held.has(address, seq);
  const waits = (one: StoredMessage) => isWaiting(one) && !isAnswer(one.kind);
  if (isGroup(address)) return holds.on(caller.sender) === undefined ? 0 : read.filter(waits).length;
  if (!isHeld(address, caller, deps)) return 0;
  const { pending } = await store.stats(address);
  // The caller may have asked for a single message, or for a later page.
  const first = read.length === pending ? read : await store.read(address, 0, countedMessages, peekBytes);
  const answers = first.filter((one) => isWaiting(one) && isAnswer(one.kind)).length;
  return pending - delivery.held.count(address) - answers;
}

/** Tells whether an operator holds the agent of an inbox, under the role of the caller or, if that is another agent, one of its own. */
function isHeld(
  address: string,
  { sender }: Caller,
  { holds, tokens }: Pick<FrameDeps, 'holds' | 'tokens'>,
): boolean {
  const agent = agentOf(address);
  if (agent === sender.agent) return holds.on(sender) !== undefined;
  return [...tokens.rolesOf(agent), ''].some((role) => holds.on({ agent, role }) !== undefined);
}

function asMessage(stored: StoredMessage, withBody: boolean, time: ExpiryTime): Message {
  return {
    id: stored.id,
    seq: stored.seq,
    from: { agent: stored.sender, address: stored.senderAddress, role: stored.senderRole },
    to: stored.inbox,
    kind: stored.kind,
    ...(stored.correlationId !== undefined && { correlation_id: stored.correlationId }),
    ...(stored.thread !== undefined && { thread: stored.thread }),
    created_at: stored.createdAt,
    remaining_ms: Math.max(0, Math.ceil(stored.expiresAt - presentFor(stored.createdAt, time))),
    ...(stored.attempts > 0 && { attempt: stored.attempts + 1 }),
    ...(stored.traceparent !== undefined && { traceparent: stored.traceparent }),
    ...(stored.group?.key !== undefined && { group_key: stored.group.key }),
    ...(stored.group?.copyOf !== undefined && { group: stored.group.copyOf }),
    ...(withBody && stored.body !== undefined && { body: stored.body }),
  };
}
