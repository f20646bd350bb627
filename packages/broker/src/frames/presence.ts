import {
  type AnnounceFrame,
  type ConnectedAgent,
  furtherCosts,
  isJsonObject,
  type ListConnectedFrame,
  operationPermissions,
  type RecipientState,
  type Sender,
} from '@signalbox/protocol';
import { holdText } from '@signalbox/protocol/internal';
import { mayList } from '../auth/role-policy.ts';
import { type Caller, mayDo } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import type { Outcome } from './outcome.ts';

const pageSize = 200;

/** Handles `announce`: sets the status of the caller, and notes how its program failed. */
export function announce(
  { status, failed }: AnnounceFrame,
  caller: Caller,
  { connected, followers }: Pick<FrameDeps, 'connected' | 'followers'>,
): Outcome {
  const { retryAfterMs, before } = connected.announce(caller, status, failed);
  if (retryAfterMs === 0) {
    const part = partsOf(status).private;
    const isChanged = followers.isOn && JSON.stringify(part) !== JSON.stringify(partsOf(before).private);
    if (isChanged) followers.announced(caller.sender, part);
    return undefined;
  }
  return { refusal: { code: 'rate_limited', message: 'announce at most once a second' }, retryAfterMs };
}

/** Handles `list_connected`: returns a page of the connected agents at all brokers that the caller's role may list. */
export function listConnected(
  frame: ListConnectedFrame,
  caller: Caller,
  deps: Pick<
    FrameDeps,
    'connected' | 'programs' | 'presence' | 'store' | 'delivery' | 'holds' | 'lanes' | 'agents' | 'tokens'
  >,
): Outcome | Promise<Outcome> {
  const { cursor: after = '', request_id, with_status, role, agent } = frame;
  const { connected, presence } = deps;
  caller.budget.spendFrames(connected.size * furtherCosts.connection);
  const here = connected
    .behind(after, pageSize + 1, (other) => mayBeShown(other, caller, { role, agent }))
    .map(
      (one): Listed => ({
        ...one,
        ...one.caller.sender,
        broker: presence.broker,
        lane: deps.lanes.has(one.caller),
      }),
    );
  const answer = (listed: readonly Listed[]): Outcome | Promise<Outcome> => {
    const shown = listed.slice(0, pageSize);
    const cursor = listed.length > pageSize ? shown.at(-1)?.key : undefined;
    const page = (agents: ConnectedAgent[], recipient?: RecipientState): Outcome => ({
      answer: {
        ...{ type: 'connected', request_id, agents },
        ...(recipient && { recipient }),
        ...(cursor !== undefined && { cursor }),
      },
    });
    const isTold = seesAll(caller) || caller.policy?.list === undefined || agent === caller.sender.agent;
    if (agent !== undefined && isTold && deps.agents.has(agent)) {
      return recipientState(agent, shown, caller, deps).then(async (recipient) =>
        page(await describeWithStatus(shown, caller, deps), recipient),
      );
    }
    if (!with_status) return page(shown.map((one) => describe(one, deps)));
    return describeWithStatus(shown, caller, deps).then((agents) => page(agents));
  };
  if (presence.broker === undefined) return answer(here);
  const roles = seesAll(caller) || agent === caller.sender.agent ? undefined : caller.policy?.list;
  return presence.elsewhere({ after, limit: pageSize + 1, role, agent, roles }).then((elsewhere) => {
    caller.budget.spendFrames(elsewhere.length * furtherCosts.connection);
    return answer([...here, ...elsewhere].sort((a, b) => (a.key < b.key ? -1 : 1)));
  });
}

/** A caller of this broker or another one. */
interface Listed extends Sender {
  key: string;
  connectedAt: number;
  status: unknown;
  broker: string | undefined;
  lane?: boolean;
}

/** Divides a status into the part that only operators and its agent are shown, and the rest. */
function partsOf(status: unknown): { private: unknown; public: unknown } {
  if (!isJsonObject(status) || !('private' in status)) return { private: undefined, public: status };
  const { private: hidden, ...shown } = status;
  return { private: hidden, public: shown };
}

function mayBeShown(
  other: Caller,
  asker: Caller,
  wanted: { role: string | undefined; agent: string | undefined },
): boolean {
  const { role, agent } = other.sender;
  if (other.mintsOnly || (wanted.role ?? role) !== role || (wanted.agent ?? agent) !== agent) return false;
  return seesAll(asker) || mayList(asker.policy, role) || wanted.agent === asker.sender.agent;
}

function seesAll(asker: Caller): boolean {
  return mayDo(asker, operationPermissions.frame.list_connected);
}

/** Tells why a message to an agent may wait. */
async function recipientState(
  agent: string,
  shown: readonly Listed[],
  asker: Caller,
  { connected, programs, delivery, store, holds, agents, tokens }: Parameters<typeof listConnected>[2],
): Promise<RecipientState> {
  const roles = shown.length > 0 ? shown.map(({ role }) => role) : [...tokens.rolesOf(agent), ''];
  const hold = roles.map((role) => holds.on({ agent, role })).find((one) => one !== undefined);
  const offlineSince = shown.length > 0 ? undefined : connected.offlineSince(agent);
  const failed = programs.of(agent);
  const elsewhere = await delivery.leasedElsewhere([agent]);
  const seesMail = seesAll(asker) || agent === asker.sender.agent;
  return {
    reads: delivery.isLeased(agent) || elsewhere.has(agent),
    ever_connected: agents.everConnected(agent),
    ...(offlineSince !== undefined && { offline_since: offlineSince }),
    ...(hold && { on_hold: holdText(hold) }),
    ...(failed && { failed: { at: failed.failed_at, reason: failed.reason } }),
    ...(seesMail && { unread: (await store.stats(agent)).pending }),
  };
}

function describe(
  { agent, address, role, connectedAt, broker, lane }: Listed,
  { holds }: Pick<FrameDeps, 'holds'>,
): ConnectedAgent {
  const hold = holds.on({ agent, role });
  return {
    ...{ agent, address, role, connected_at: connectedAt },
    ...(lane && { lane: true as const }),
    ...(hold && { on_hold: holdText(hold) }),
    ...(broker !== undefined && { broker }),
  };
}

/** Describes agents with their status. Only an agent itself and operators get the counts of its inbox. */
async function describeWithStatus(
  shown: readonly Listed[],
  asker: Caller,
  deps: Pick<FrameDeps, 'store' | 'delivery' | 'holds'>,
): Promise<ConnectedAgent[]> {
  const agents = [...new Set(shown.map(({ agent }) => agent))].filter(
    (agent) => seesAll(asker) || agent === asker.sender.agent,
  );
  const inboxes = await countInboxes(agents, deps);
  const seesPrivate = mayDo(asker, operationPermissions.frame.private_status);
  return shown.map((one) => {
    const inbox = inboxes.get(one.agent);
    const isShownWhole = seesPrivate || one.agent === asker.sender.agent;
    return {
      ...describe(one, deps),
      ...(one.status !== undefined && { status: isShownWhole ? one.status : partsOf(one.status).public }),
      ...(inbox && { inbox }),
    };
  });
}

type Inbox = NonNullable<ConnectedAgent['inbox']>;

/** Counts the messages that wait in inboxes. This broker does not know how many of them other brokers have handed out. */
async function countInboxes(
  agents: readonly string[],
  { store, delivery }: Pick<FrameDeps, 'store' | 'delivery'>,
): Promise<ReadonlyMap<string, Inbox>> {
  const elsewhere = await delivery.leasedElsewhere(agents);
  // A database is queried for all of them at once.
  const stats = await Promise.all(agents.map((agent) => store.stats(agent)));
  return new Map(
    stats.map(({ pending }, at): [string, Inbox] => {
      const agent = agents[at]!;
      const held = elsewhere.has(agent) ? {} : { held: delivery.held.count(agent) };
      return [agent, { unread: pending, ...held }];
    }),
  );
}
