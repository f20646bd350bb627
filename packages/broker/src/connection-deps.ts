import { nanoid } from 'nanoid';
import { type IdentityParts, loadIdentities } from './auth/identity-parts.ts';
import { newTokenId } from './auth/token-id.ts';
import { Backups } from './backup/backups.ts';
import type { BrokerSettings } from './broker-options.ts';
import { BrokerTalk } from './cluster/broker-talk.ts';
import { joinCluster } from './cluster/cluster-parts.ts';
import type { ConnectionDeps } from './connection/connection.ts';
import { OutboxFlusher } from './connection/outbox-flusher.ts';
import { Delivery } from './core/delivery.ts';
import type { StopOrder } from './core/endings/cancellations.ts';
import { ExpiryClock, holdMs } from './core/time/expiry-clock.ts';
import { endOtherRoles, endRevoked } from './frames/admin/remove-token.ts';
import { leaveBehind, type WorkerThatEnded } from './frames/admin/worker-exit.ts';
import { ConnectedCallers } from './frames/connected-callers.ts';
import { FailedPrograms } from './frames/failed-programs.ts';
import { RightsFollowers } from './frames/rights-followers.ts';
import { TailFollowers } from './frames/tail-followers.ts';
import type { BrokerHealth } from './health/broker-health.ts';
import { Holds } from './holds/holds.ts';
import { Lanes } from './lanes/lanes.ts';
import { AgentBudgets } from './limits/agent-budgets.ts';
import { RateLimit } from './limits/rate-limit.ts';
import { MessageMeter } from './metrics/message-meter.ts';
import { measure } from './metrics/metrics-parts.ts';
import type { ReachedAt } from './reached-at.ts';
import { Schedules } from './schedules/schedules.ts';
import type { Stores } from './stores-elsewhere.ts';
import { Webhooks } from './webhooks/webhooks.ts';

const suggestionsPerSecond = 20;
/** The time that another broker has to answer a question, in addition to its own waits, in milliseconds. */
const answerMs = 1000;

/**
 * Creates the parts that all connections share: the tokens, the core that moves messages, and the connected callers. `onStoreFailed` is
 * called once if messages can't be made durable any more.
 */
export async function createConnectionDeps(
  settings: BrokerSettings,
  stores: Stores,
  { health, onStoreFailed }: { health: BrokerHealth; onStoreFailed: (error: unknown) => void },
): Promise<ConnectionDeps> {
  const { limits, fault, now, monotonic, log } = settings;
  const { inboxes: store, cluster, tokens: tokenStore, audit } = stores;
  const reached = await store.keptTime();
  const time = expiryClock(settings, reached);
  const identity = await loadIdentities(settings, tokenStore, time);
  const talk = new BrokerTalk({
    presence: cluster.presence,
    newId: () => nanoid(12),
    onError: (error) => log({ level: 'error', event: 'told_in_vain', error }),
  });
  const holds = await loadHolds({ tokenStore, tokens: identity.tokens, time, talk });
  const followers = new TailFollowers(now);
  const rights = new RightsFollowers();
  const meter = new MessageMeter();
  const delivery = new Delivery({
    store,
    cluster,
    time,
    monotonic,
    newLeaseId: () => nanoid(12),
    isOnHold: (holder) => holds.on(holder) !== undefined,
    maxDeliver: limits.forAll.message.attempts,
    onError: (error) => log({ level: 'error', event: 'delivery_failed', error }),
    onStoreFailed,
    fault,
    tail: followers,
    meter,
  });
  holds.onChange((change) => {
    delivery.subscriptions.holdsChanged();
    if (!change) return;
    followers.holdChanged(change);
    const { on, name } = change.hold;
    rights.changed(on === 'agent' ? name : undefined);
  });
  const onError = (error: unknown): void => log({ level: 'error', event: 'told_in_vain', error });
  const programs = new FailedPrograms({ talk, now, onError });
  const connected = new ConnectedCallers({
    presence: cluster.presence,
    programs,
    newSerial: () => nanoid(8),
    now,
    monotonic,
  });
  const { tokens, agents } = identity;
  tokens.onOrchestrator((agent) => endOtherRoles(agent, { connected, tokens }));
  tokens.onLastGone((agent) => rights.changed(agent));
  const onRevoked = (ids: readonly string[]) => endRevoked(ids, { connected, delivery });
  const neighbours = { cluster, tokenStore, talk, tokens, agents, holds, followers, onRevoked, monotonic };
  talk.on('worker_exited', (worker: WorkerThatEnded) => leaveBehind(worker, { connected, delivery }));
  talk.on('stop_work', (order: StopOrder) => delivery.cancellations.stopWork(order));
  const lanes = new Lanes({
    holderOf: (address) => delivery.holderOf(address),
    isLive: ({ token }) => tokens.isLive(token),
    tail: followers,
    newSecret: () => nanoid(),
    monotonic,
  });
  followers.onLook(() => lanes.beat());
  const reachedAt: ReachedAt = { origins: [] };
  const webhooks = new Webhooks(settings.hooks, reachedAt);
  const rolesOf = (agent: string) => tokens.rolesOf(agent);
  const measured = { meter, health, connected, delivery, store, holds, webhooks, rolesOf };
  return {
    ...identity,
    ...joinCluster(neighbours),
    ...(await measure(settings, measured)),
    delivery,
    store,
    holds,
    lanes,
    schedules: new Schedules(settings.schedules, { now: now(), kept: reached }),
    webhooks,
    reachedAt,
    budgets: new AgentBudgets(limits, monotonic),
    connected,
    programs,
    suggestions: new RateLimit(suggestionsPerSecond, suggestionsPerSecond, monotonic()),
    followers,
    rights,
    backups: await backupsOf(settings, stores, identity),
    audit,
    flusher: new OutboxFlusher(fault),
    limits,
    get receiptMeans() {
      return store.caps.receiptMeans;
    },
    time,
    now,
    monotonic,
    log,
  };
}

/** Makes the clock by which messages and tokens expire. `reached` is the time that the last broker on the stores had reached. */
function expiryClock(
  { now, monotonic, log }: BrokerSettings,
  reached: Awaited<ReturnType<Stores['inboxes']['keptTime']>>,
): ExpiryClock {
  return new ExpiryClock({
    now,
    monotonic,
    reached,
    onLeap: ({ from, to }) =>
      log({
        level: 'warn',
        event: 'expiry_held',
        leapMs: to - from,
        forMs: holdMs,
        message:
          'no broker ran for a while, the machine slept, or the clock leapt: nothing expires because of that for five minutes. ' +
          'If the clock is right, there is nothing to do; signalbox clock accept ends the wait',
      }),
    onHoldEnd: (why) => log({ level: 'info', event: 'expiry_resumed', why }),
  });
}

/** Loads the holds. The orchestrators of other brokers confirm them, too. */
function loadHolds({
  tokenStore: store,
  tokens,
  time,
  talk,
}: {
  tokenStore: Stores['tokens'];
  tokens: IdentityParts['tokens'];
  time: ExpiryClock;
  talk: BrokerTalk;
}): Promise<Holds> {
  return Holds.load({
    store,
    tokens,
    time,
    newId: newTokenId,
    confirmElsewhere: async (withinMs) => {
      const { answers, silent } = await talk.askAll<boolean>('holds', undefined, withinMs + answerMs);
      return silent.length === 0 && answers.every(Boolean);
    },
  });
}

async function backupsOf(
  { dataDir, stores: elsewhere, now, log }: BrokerSettings,
  { inboxes }: Stores,
  { agents }: IdentityParts,
): Promise<Backups> {
  return new Backups({
    dataDir,
    brokerId: await inboxes.identity(),
    noBackup: elsewhere?.noBackup,
    flush: () => agents.save(),
    newId: () => `backup-${nanoid(12)}`,
    now,
    log,
  });
}
