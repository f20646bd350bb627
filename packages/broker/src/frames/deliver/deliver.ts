import {
  agentOf,
  type DeliverFrame,
  furtherCosts,
  type Hold,
  isConfiguredSender,
  isGroup,
  isSubInbox,
  type MessageFrame,
  type Sender,
} from '@signalbox/protocol';
import { figure, holdText } from '@signalbox/protocol/internal';
import type { NewMessage } from '@signalbox/store';
import { judgeDeliver } from '../../auth/role-policy.ts';
import { lifetimeOf, openUntil } from '../../core/message-header.ts';
import type { AgentBudget } from '../../limits/agent-budgets.ts';
import { refillMs } from '../../limits/rate-limit.ts';
import type { Caller } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import { badField, type Outcome } from '../outcome.ts';
import { decidingSender } from './deciding-sender.ts';
import {
  refuseAsked,
  refuseForgedClaim,
  refuseGroupFields,
  refuseSettles,
  refuseSize,
  refuseThread,
  refuseTimes,
} from './deliver-checks.ts';
import { answeredAlready, notAnAnswer } from './receipt.ts';
import {
  hasInbox,
  isPileNobodyReads,
  nobodyHolds,
  noConsumer,
  readsNothing,
  unknownGroup,
  unknownRecipient,
} from './recipient.ts';

type Deps = Pick<
  FrameDeps,
  | 'delivery'
  | 'store'
  | 'tokens'
  | 'agents'
  | 'others'
  | 'groups'
  | 'suggestions'
  | 'holds'
  | 'limits'
  | 'now'
  | 'monotonic'
>;

/**
 * Handles `deliver`: checks the frame and passes its message to the core. Returns a promise if the store must be read first, or can't keep
 * up.
 */
export function deliver(
  frame: DeliverFrame,
  caller: Caller,
  deps: Deps,
  body: string | undefined,
): Outcome | Promise<Outcome> {
  const { delivery, tokens, monotonic } = deps;
  const refusal =
    refuseForgedClaim(frame, caller.sender) ??
    refuseSize(body, caller.limits.message.bytes) ??
    refuseGroupFields(frame) ??
    refuseThread(frame) ??
    refuseTimes(frame, caller.limits.message) ??
    (frame.asked === undefined ? undefined : refuseAsked(frame, frame.asked, caller)) ??
    refuseSettles(frame, caller, delivery);
  if (refusal) return { refusal };
  const verdict = judgeDeliver(caller, frame, tokens);
  if (typeof verdict === 'object') return { refusal: { code: 'forbidden', message: verdict.refusal } };
  const excess = caller.budget.takeMessage(monotonic(), deps.limits);
  if (excess) return tooFast(excess);
  const hold = deps.holds.all.length > 0 ? deps.holds.on(caller.sender) : undefined;
  // An agent on hold may still answer its requests, and ask for tool calls, which wait in the orchestrator.
  if (hold && verdict === 'allowed' && frame.kind !== 'mcp_request') return heldBack(hold, deps.now());
  if (verdict === 'only_as_reply') {
    // The store checks that the request is open, in the commit that stores the reply.
    if (frame.correlation_id === undefined) return { refusal: notAnAnswer(frame.kind, frame.to, undefined) };
    return submit(frame, caller, deps, body, { answers: agentOf(frame.to) });
  }
  if (verdict === 'only_as_answer') return submitIfAnswer(frame, caller, deps, body);
  if (frame.all) return submitToAll(frame, caller, deps, body);
  if (delivery.isLeased(frame.to)) return submit(frame, caller, deps, body);
  if (isSubInbox(frame.to) && isPileNobodyReads(frame, caller, deps))
    return submitIfHeldElsewhere(frame, caller, deps, body);
  return submitToKnown(frame, caller, deps, body);
}

/** Passes a message to the core if its recipient is known, although no consumer of this broker holds the inbox. */
function submitToKnown(
  frame: DeliverFrame,
  caller: Caller,
  deps: Deps,
  body: string | undefined,
): Outcome | Promise<Outcome> {
  // Messages can be sent only to agents that exist. An agent exists if it holds its inbox, is known, or sent the request that this answers.
  const exists = deps.agents.has(agentOf(frame.to));
  if (exists) return submit(frame, caller, deps, body);
  if (isConfiguredSender(frame.to)) return { refusal: readsNothing(frame.to) };
  if (frame.ephemeral || settlesItsRequest(frame, caller, deps)) return submit(frame, caller, deps, body);
  if (isGroup(frame.to)) {
    if (deps.groups.has(frame.to)) return submit(frame, caller, deps, body);
    return { refusal: unknownGroup(frame.to, caller, deps) };
  }
  return submitIfInboxExists(frame, caller, deps, body);
}

/** Passes a message for all members of a group to the core. */
function submitToAll(
  frame: DeliverFrame,
  caller: Caller,
  deps: Deps,
  body: string | undefined,
): Outcome | Promise<Outcome> {
  const { groups, limits } = deps;
  if (!groups.has(frame.to)) return { refusal: unknownGroup(frame.to, caller, deps) };
  const agents = [...groups.members(frame.to)].filter((agent) => agent !== caller.sender.agent);
  caller.budget.spendFrames(agents.length * furtherCosts.copy);
  const most = limits.forAll.message.recipients;
  if (agents.length > most) {
    const why = `'${frame.to}' has ${figure(agents.length)} members, and one message goes to ${figure(most)} at most; send to one member, or raise broker.limits.message.recipients`;
    return { refusal: badField('all', why) };
  }
  const bytes = agents.length * Buffer.byteLength(body ?? '');
  if (bytes > limits.forAll.message.recipientBytes) {
    const message = `the copies for ${figure(agents.length)} members would have ${figure(bytes)} bytes, over ${figure(limits.forAll.message.recipientBytes)}; send it by reference, or raise broker.limits.message.recipientBytes`;
    return { refusal: { code: 'message_too_large', message, field: 'all' } };
  }
  return submit(frame, caller, deps, body, { copies: { agents, partial: frame.partial ?? false } });
}

/** Refuses a message of an agent that an operator holds. */
function heldBack(hold: Hold, now: number): Outcome {
  const refusal = { code: 'held', message: `${holdText(hold)}; send it again after the release` } as const;
  return hold.until === undefined ? { refusal } : { refusal, retryAfterMs: Math.max(0, hold.until - now) };
}

/** Refuses a message above the rate, and pauses the connection, because refusing a flood frame by frame would slow down other callers. */
function tooFast({ waitMs, excess }: NonNullable<ReturnType<AgentBudget['takeMessage']>>): Outcome {
  const message = `${excess.what}; send more slowly, or raise ${excess.setting}`;
  const refusal = { code: 'rate_limited', message } as const;
  return { refusal, retryAfterMs: waitMs, resumeAfterMs: Math.min(waitMs, refillMs) };
}

async function submitIfHeldElsewhere(
  frame: DeliverFrame,
  caller: Caller,
  deps: Deps,
  body: string | undefined,
): Promise<Outcome> {
  const elsewhere = await deps.delivery.leasedElsewhere([frame.to]);
  if (!caller.isConnected) return undefined;
  if (elsewhere.has(frame.to)) return submitToKnown(frame, caller, deps, body);
  return { refusal: nobodyHolds(frame.to) };
}

async function submitIfInboxExists(
  frame: DeliverFrame,
  caller: Caller,
  deps: Deps,
  body: string | undefined,
): Promise<Outcome> {
  // The agent may have connected to another broker a moment ago.
  await deps.others.follow();
  const exists = deps.agents.has(agentOf(frame.to)) || (await hasInbox(frame.to, deps.store));
  if (!caller.isConnected) return undefined;
  if (exists) return submit(frame, caller, deps, body);
  const message = unknownRecipient(agentOf(frame.to), caller, deps);
  return { refusal: { code: 'unknown_recipient', message, field: 'to' } };
}

async function submitIfAnswer(
  frame: DeliverFrame,
  caller: Caller,
  deps: Deps,
  body: string | undefined,
): Promise<Outcome> {
  const { correlation_id: id, kind, to } = frame;
  if (id === undefined) return { refusal: notAnAnswer(kind, to, id) };
  const { agent: replier, address: replierAddress } = caller.sender;
  const groups = deps.groups.of(caller.sender.role);
  const request = { requester: agentOf(to), id, replier, replierAddress, groups };
  // The taking of the request by a member of a group may not be written yet.
  if (deps.delivery.leaseOf(caller.consumer)?.isShared) await deps.delivery.written();
  const state = await deps.store.requestState(request);
  if (!caller.isConnected) return undefined;
  if (state === 'open') return submit(frame, caller, deps, body);
  return { refusal: state === 'over' ? answeredAlready(id) : notAnAnswer(kind, to, id) };
}

/** Tells whether the frame answers and settles a request that the caller holds. */
function settlesItsRequest(
  frame: DeliverFrame,
  { consumer }: Caller,
  { delivery }: Pick<Deps, 'delivery'>,
): boolean {
  if (frame.settles === undefined) return false;
  const request = delivery.inFlight(consumer, frame.settles);
  return (
    request !== undefined && request.id === frame.correlation_id && request.from.agent === agentOf(frame.to)
  );
}

/**
 * Passes the message to the core. `answers` is the agent that sent the request, if the message is its final reply. `copies` are for members
 * of a group.
 */
function submit(
  frame: DeliverFrame,
  caller: Caller,
  { delivery, groups, now }: Deps,
  body: string | undefined,
  { answers, copies }: Pick<NewMessage, 'answers' | 'copies'> = {},
): Outcome | Promise<Outcome> {
  const { sender, token, consumer, producer, limits } = caller;
  const sentAt = now();
  const { not_before_ms: waitMs } = frame;
  const createdAt = sentAt + (waitMs ?? 0);
  const ttlMs = lifetimeOf(limits.message, frame.ttl_ms);
  if (frame.ephemeral) {
    const from = frame.kind === 'mcp_request' ? decidingSender(sender, token) : sender;
    const isPushed = delivery.deliverEphemeral(ephemeralFrame(from, frame, createdAt, ttlMs), body);
    const outcome = (pushed: boolean): Outcome =>
      pushed || !caller.isConnected ? undefined : { refusal: noConsumer(frame.to) };
    // The caller's next frames wait, which bounds its messages to other brokers.
    return typeof isPushed === 'boolean' ? outcome(isPushed) : isPushed.then(outcome);
  }
  // One member at a time works on a thread.
  const groupKey =
    frame.group_key ?? (frame.thread !== undefined && isGroup(frame.to) ? frame.thread : undefined);
  const answerableUntil = openUntil(frame.kind, createdAt + ttlMs);
  const message: NewMessage = {
    inbox: frame.to,
    id: frame.id,
    sender: sender.agent,
    senderAddress: sender.address,
    senderRole: sender.role,
    kind: frame.kind,
    correlationId: frame.correlation_id,
    thread: frame.thread ?? (answerableUntil === undefined ? undefined : frame.correlation_id),
    traceparent: frame.traceparent,
    createdAt,
    expiresAt: createdAt + ttlMs,
    openUntil: answerableUntil,
    answers,
    answersIn: answers === undefined ? undefined : groups.of(sender.role),
    asked: frame.asked,
    group: groupKey === undefined ? undefined : { key: groupKey },
    copies,
    scheduledAt: waitMs === undefined ? undefined : sentAt,
    release: undefined,
    body,
    quota: answers !== undefined || caller.isPrivileged ? undefined : limits,
    settles:
      frame.settles === undefined
        ? undefined
        : { inbox: delivery.leaseOf(consumer)?.address ?? sender.address, seq: frame.settles },
    tokenId: frame.kind === 'mcp_request' ? token.id : undefined,
  };
  return delivery.deliver(message, producer);
}

function ephemeralFrame(sender: Sender, frame: DeliverFrame, now: number, ttlMs: number): MessageFrame {
  return {
    type: 'message',
    id: frame.id,
    from: sender,
    to: frame.to,
    kind: frame.kind,
    correlation_id: frame.correlation_id,
    created_at: now,
    remaining_ms: ttlMs,
    traceparent: frame.traceparent,
  };
}
