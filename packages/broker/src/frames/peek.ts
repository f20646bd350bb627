import type { ConnectedAgent, ListConnectedFrame, Message, PeekFrame } from '@signalbox/protocol';
import { agentOf } from '@signalbox/protocol';
import type { StoredMessage } from '@signalbox/store';
import { mayList } from '../auth/role-policy.ts';
import type { Session } from '../session/session.ts';
import type { SessionContext } from './context.ts';

const pageSize = 200;
const peekBytes = 1024 * 1024;

/** Who is connected, as far as this session's role may know. A promise where inboxes are looked into. */
export function listConnected(
  session: Session,
  context: SessionContext,
  frame: ListConnectedFrame,
): Promise<void> | undefined {
  const { sessions, cursor } = context.sessions.page(frame.cursor ?? '', pageSize);
  const shown = sessions
    .filter((other) => !other.mintsOnly && (frame.role === undefined || other.sender.role === frame.role))
    .filter((other) => session.isOperator || mayList(session.policy, other.sender.role));
  const answer = (agents: ConnectedAgent[]): void =>
    session.send({
      type: 'connected',
      request_id: frame.request_id,
      agents,
      ...(cursor !== undefined && { cursor }),
    });
  if (frame.with_status) return describeWithStatus(session, context, shown).then(answer);
  answer(shown.map(describe));
  return undefined;
}

function describe({ sender: { agent, address, role }, connectedAt }: Session): ConnectedAgent {
  return { agent, address, role, connected_at: connectedAt };
}

/** What waits for an agent is told to itself and to the operator. */
async function describeWithStatus(
  asker: Session,
  context: SessionContext,
  sessions: readonly Session[],
): Promise<ConnectedAgent[]> {
  const agents = new Set(sessions.map(({ sender }) => sender.agent));
  const inboxes = new Map<string, Inbox>();
  for (const agent of agents) {
    if (asker.isOperator || agent === asker.sender.agent)
      inboxes.set(agent, await countInbox(context, agent));
  }
  return sessions.map((session) => {
    const inbox = inboxes.get(session.sender.agent);
    return {
      ...describe(session),
      ...(session.status !== undefined && { status: session.status }),
      ...(inbox && { inbox }),
    };
  });
}

type Inbox = NonNullable<ConnectedAgent['inbox']>;

async function countInbox({ store, delivery }: SessionContext, agent: string): Promise<Inbox> {
  const { pending } = await store.stats(agent);
  return { unread: pending, held: delivery.held.count(agent) };
}

/** What waits in one of the session's own inboxes (any inbox for the operator), without claiming it. */
export async function peek(session: Session, context: SessionContext, frame: PeekFrame): Promise<void> {
  const address = frame.address ?? session.sender.address;
  if (!session.isOperator && agentOf(address) !== session.sender.agent) {
    session.refuse({
      code: 'not_yours',
      message: `the inbox '${address}' is not yours; you may read '${session.sender.agent}' and its sub-inboxes`,
      field: 'address',
      request_id: frame.request_id,
    });
    return;
  }
  const messages = await context.store.read(address, frame.after ?? 0, frame.limit ?? 100, peekBytes);
  const now = context.now();
  session.send({
    type: 'peeked',
    request_id: frame.request_id,
    messages: messages.map((m) => asMessage(m, now)),
  });
}

function asMessage(stored: StoredMessage, now: number): Message {
  return {
    id: stored.id,
    seq: stored.seq,
    from: { agent: stored.sender, address: stored.senderAddress, role: stored.senderRole },
    to: stored.inbox,
    kind: stored.kind,
    ...(stored.correlationId !== undefined && { correlation_id: stored.correlationId }),
    created_at: stored.createdAt,
    remaining_ms: Math.max(0, stored.expiresAt - now),
    ...(stored.attempts > 0 && { attempt: stored.attempts + 1 }),
    ...(stored.traceparent !== undefined && { traceparent: stored.traceparent }),
    ...(stored.body !== undefined && { body: stored.body }),
  };
}
