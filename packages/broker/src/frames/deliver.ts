import { setTimeout as pause } from 'node:timers/promises';
import {
  agentOf,
  type DeliverFrame,
  defaultTtlMs,
  type ErrorCode,
  type MessageFrame,
  type Sender,
} from '@signalbox/protocol';
import type { NewMessage } from '@signalbox/store';
import { judgeDeliver } from '../auth/role-policy.ts';
import type { DeliverResult } from '../core/producer.ts';
import type { Session } from '../session/session.ts';
import type { SessionContext } from './context.ts';
import { restMs } from './rate-limit.ts';
import { hasInbox, unknownRecipient } from './recipient.ts';

/** A `deliver` frame, from its claims to its receipt. A promise where a look-up has to come first. */
export function deliver(
  session: Session,
  context: SessionContext,
  frame: DeliverFrame,
  body: string | undefined,
): Promise<void> | undefined {
  const forged = forgedClaim(frame, session.sender);
  if (forged) {
    session.end('forged_sender', forged);
    return undefined;
  }
  const refusal = refuseSize(context, body) ?? refuseSettles(session, context, frame);
  if (refusal) {
    session.refuse({ ...refusal, id: frame.id });
    return undefined;
  }
  const verdict = judgeDeliver(session.sender.role, session.policy, frame, context.tokens);
  if (verdict === 'allowed') {
    const wait = session.bucket?.take(context.now()) ?? 0;
    if (wait > 0) {
      session.refuse({ code: 'rate_limited', message: tooFast(context), id: frame.id }, wait);
      // What comes behind is not read before some of it may pass: refusing a flood costs what the others need.
      return pause(Math.min(wait, restMs));
    }
    // Only who exists can be written to; a live consumer shows it by itself, an answer was asked for.
    const isKnown =
      frame.ephemeral || context.delivery.isHeld(frame.to) || context.agents.has(agentOf(frame.to));
    if (!isKnown && !settlesItsRequest(session, context, frame)) {
      return storeIfInboxExists(session, context, frame, body);
    }
    return store(session, context, frame, body);
  }
  if (verdict !== 'only_as_answer') {
    session.refuse({ code: 'forbidden', message: verdict.refusal, id: frame.id });
    return undefined;
  }
  if (settlesItsRequest(session, context, frame)) {
    return store(session, context, frame, body);
  }
  return storeIfAnswer(session, context, frame, body);
}

async function storeIfInboxExists(
  session: Session,
  context: SessionContext,
  frame: DeliverFrame,
  body: string | undefined,
): Promise<void> {
  const exists = await hasInbox(context, frame.to);
  if (!session.isOpen) return;
  if (exists) await store(session, context, frame, body);
  else {
    const message = unknownRecipient(session, context, agentOf(frame.to));
    session.refuse({ code: 'unknown_recipient', message, field: 'to', id: frame.id });
    context.flusher.flush();
  }
}

async function storeIfAnswer(
  session: Session,
  context: SessionContext,
  frame: DeliverFrame,
  body: string | undefined,
): Promise<void> {
  const answers = await answersARequest(session, context, frame);
  if (!session.isOpen) return;
  if (answers) await store(session, context, frame, body);
  else
    session.refuse({
      code: 'forbidden',
      message: notAnAnswer(frame),
      field: 'correlation_id',
      id: frame.id,
    });
}

/** The claim that differs from what the token says, as a message; `undefined` if none does. */
function forgedClaim(frame: DeliverFrame, sender: Sender): string | undefined {
  const { from, role } = frame;
  if (role !== undefined && role !== sender.role) return `field 'role': the token's role is '${sender.role}'`;
  if (from === undefined) return undefined;
  if (typeof from === 'string') {
    return from === sender.agent || from === sender.address
      ? undefined
      : `field 'from': the token is for '${sender.agent}'`;
  }
  const differs =
    (from.agent !== undefined && from.agent !== sender.agent) ||
    (from.address !== undefined && from.address !== sender.address) ||
    (from.role !== undefined && from.role !== sender.role);
  return differs ? `field 'from': the token is for '${sender.agent}' with role '${sender.role}'` : undefined;
}

interface Refusal {
  code: ErrorCode;
  message: string;
  field?: string;
}

function refuseSize(context: SessionContext, body: string | undefined): Refusal | undefined {
  const max = context.limits.maxMessageBytes;
  if (body === undefined || body.length * 3 <= max || Buffer.byteLength(body) <= max) return undefined;
  return {
    code: 'message_too_large',
    message: `the body is over ${max} bytes; send it in parts or by reference`,
    field: 'body',
  };
}

function refuseSettles(session: Session, context: SessionContext, frame: DeliverFrame): Refusal | undefined {
  if (frame.settles === undefined) return undefined;
  if (frame.ephemeral) {
    return {
      code: 'bad_frame',
      message: "field 'settles': an ephemeral message settles nothing; leave it out",
      field: 'settles',
    };
  }
  if (context.delivery.holds(session.sender.address, session)) return undefined;
  return {
    code: 'no_lease',
    message: "field 'settles': this connection doesn't hold its inbox; subscribe first",
    field: 'settles',
  };
}

function settlesItsRequest(session: Session, context: SessionContext, frame: DeliverFrame): boolean {
  if (frame.settles === undefined) return false;
  const request = context.delivery.inFlight(session.sender.address, session, frame.settles);
  return (
    request !== undefined && request.id === frame.correlation_id && request.from.agent === agentOf(frame.to)
  );
}

/** Was this agent sent a message with that id by the one it now answers? */
async function answersARequest(
  session: Session,
  context: SessionContext,
  frame: DeliverFrame,
): Promise<boolean> {
  const { correlation_id: id, to } = frame;
  if (id === undefined) return false;
  for (const inbox of new Set([session.sender.address, session.sender.agent])) {
    if (await context.store.find(inbox, agentOf(to), id)) return true;
  }
  return false;
}

function notAnAnswer(frame: DeliverFrame): string {
  return `kind '${frame.kind}' goes only to the sender of a request you were sent, with its id as correlation_id`;
}

function tooFast(context: SessionContext): string {
  return `more than ${context.limits.deliverPerSecond} messages a second`;
}

function store(
  session: Session,
  context: SessionContext,
  frame: DeliverFrame,
  body: string | undefined,
): Promise<void> | undefined {
  const now = context.now();
  const ttl = Math.min(frame.ttl_ms ?? defaultTtlMs, context.limits.maxTtlMs);
  if (frame.ephemeral) {
    const taken = context.delivery.deliverEphemeral(ephemeralFrame(session.sender, frame, now, ttl), body);
    if (taken) return undefined;
    session.refuse({
      code: 'no_consumer',
      message: `nobody holds the inbox '${frame.to}' now`,
      id: frame.id,
    });
    return undefined;
  }
  const { sender, token } = session;
  const message: NewMessage = {
    inbox: frame.to,
    id: frame.id,
    sender: sender.agent,
    senderAddress: sender.address,
    senderRole: sender.role,
    kind: frame.kind,
    correlationId: frame.correlation_id,
    traceparent: frame.traceparent,
    createdAt: now,
    expiresAt: now + ttl,
    body,
    settles: frame.settles === undefined ? undefined : { inbox: sender.address, seq: frame.settles },
    tokenId: frame.kind === 'mcp_request' ? token.id : undefined,
  };
  return context.delivery.deliver(message, session);
}

/** Tells the sender of a message what became of it. */
export function answerDeliver(
  session: Session,
  context: SessionContext,
  message: NewMessage,
  result: DeliverResult,
): void {
  const { id } = message;
  switch (result.result) {
    case 'stored':
      session.send({ type: 'delivered', id, duplicate: undefined });
      return;
    case 'duplicate':
      session.send({ type: 'delivered', id, duplicate: true });
      return;
    case 'failed':
      context.log({ level: 'error', event: 'commit_failed', error: result.error });
      session.refuse({ code: 'internal', message: 'the message could not be stored; nothing was kept', id });
      return;
    default:
      session.refuse({ code: result.result, message: refusals[result.result](message, context), id });
  }
}

const refusals = {
  id_conflict: ({ id, inbox }: NewMessage) =>
    `another message with the id '${id}' waits in '${inbox}'; use a new id`,
  inbox_full: ({ inbox }: NewMessage) =>
    `the inbox '${inbox}' is full; try again when its owner has read some`,
  quota_exceeded: ({ inbox }: NewMessage, { limits }: SessionContext) =>
    `${limits.maxPendingPerSender} of your messages wait in '${inbox}'; try again when some are read`,
  storage_full: () => "the broker's storage is full; try again when there is room",
} satisfies Record<string, (message: NewMessage, context: SessionContext) => string> & {
  [code in ErrorCode]?: unknown;
};

function ephemeralFrame(sender: Sender, frame: DeliverFrame, now: number, ttl: number): MessageFrame {
  return {
    type: 'message',
    id: frame.id,
    from: sender,
    to: frame.to,
    kind: frame.kind,
    correlation_id: frame.correlation_id,
    created_at: now,
    remaining_ms: ttl,
    traceparent: frame.traceparent,
  };
}
