import {
  type AnnounceFrame,
  type ConnectedAgent,
  furtherCosts,
  type ListConnectedFrame,
  operationPermissions,
} from '@signalbox/protocol';
import { holdText } from '@signalbox/protocol/internal';
import { mayList } from '../auth/role-policy.ts';
import { type Caller, mayDo } from './caller.ts';
import type { ConnectedCaller } from './connected-callers.ts';
import type { FrameDeps } from './frame-deps.ts';
import type { Outcome } from './outcome.ts';

const pageSize = 200;

/** Handles `announce`: sets the status of the caller. */
export function announce(
  { status }: AnnounceFrame,
  caller: Caller,
  { connected }: Pick<FrameDeps, 'connected'>,
): Outcome {
  const retryAfterMs = connected.announce(caller, status);
  if (retryAfterMs === 0) return undefined;
  return { refusal: { code: 'rate_limited', message: 'announce at most once a second' }, retryAfterMs };
}

/** Handles `list_connected`: returns a page of the connected agents that the caller's role may list. */
export function listConnected(
  frame: ListConnectedFrame,
  caller: Caller,
  deps: Pick<FrameDeps, 'connected' | 'store' | 'delivery' | 'holds'>,
): Outcome | Promise<Outcome> {
  caller.budget.spendFrames(deps.connected.size * furtherCosts.connection);
  const isShown = (other: Caller): boolean => mayBeShown(other, caller, frame.role);
  const { connected: shown, cursor } = deps.connected.page(frame.cursor ?? '', pageSize, isShown);
  const answer = (agents: ConnectedAgent[]): Outcome => ({
    answer: {
      type: 'connected',
      request_id: frame.request_id,
      agents,
      ...(cursor !== undefined && { cursor }),
    },
  });
  if (!frame.with_status) return answer(shown.map((one) => describe(one, deps)));
  return describeWithStatus(shown, caller, deps).then(answer);
}

function mayBeShown(other: Caller, asker: Caller, wantedRole: string | undefined): boolean {
  const { role } = other.sender;
  if (other.mintsOnly || (wantedRole !== undefined && role !== wantedRole)) return false;
  return seesAll(asker) || mayList(asker.policy, role);
}

function seesAll(asker: Caller): boolean {
  return mayDo(asker, operationPermissions.frame.list_connected);
}

function describe(
  { caller, connectedAt }: ConnectedCaller,
  { holds }: Pick<FrameDeps, 'holds'>,
): ConnectedAgent {
  const { agent, address, role } = caller.sender;
  const hold = holds.on(caller.sender);
  return { agent, address, role, connected_at: connectedAt, ...(hold && { on_hold: holdText(hold) }) };
}

/** Describes agents with their status. The counts of an inbox are only for its agent and for operators. */
async function describeWithStatus(
  shown: readonly ConnectedCaller[],
  asker: Caller,
  deps: Pick<FrameDeps, 'store' | 'delivery' | 'holds'>,
): Promise<ConnectedAgent[]> {
  const inboxes = new Map<string, Inbox>();
  for (const agent of new Set(shown.map(({ caller }) => caller.sender.agent))) {
    if (seesAll(asker) || agent === asker.sender.agent) inboxes.set(agent, await countInbox(agent, deps));
  }
  return shown.map((connected) => {
    const { status, caller } = connected;
    const inbox = inboxes.get(caller.sender.agent);
    return { ...describe(connected, deps), ...(status !== undefined && { status }), ...(inbox && { inbox }) };
  });
}

type Inbox = NonNullable<ConnectedAgent['inbox']>;

async function countInbox(
  agent: string,
  { store, delivery }: Pick<FrameDeps, 'store' | 'delivery'>,
): Promise<Inbox> {
  const { pending } = await store.stats(agent);
  return { unread: pending, held: delivery.held.count(agent) };
}
