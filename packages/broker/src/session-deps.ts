import { statfs } from 'node:fs/promises';
import { nanoid } from 'nanoid';
import { Groups } from './auth/groups.ts';
import { KnownAgents } from './auth/known-agents.ts';
import { MintingLimits } from './auth/minting-limits.ts';
import { SignInCodes } from './auth/sign-in-codes.ts';
import { newTokenId } from './auth/token-id.ts';
import { TokenRegistry } from './auth/token-registry.ts';
import { Backups } from './backup/backups.ts';
import type { BrokerSettings } from './broker-options.ts';
import { BrokerTalk } from './cluster/broker-talk.ts';
import { TailRelay } from './cluster/tail-relay.ts';
import { TokenFollower } from './cluster/token-follower.ts';
import { Delivery } from './core/delivery.ts';
import { ExpiryClock, holdMs } from './core/time/expiry-clock.ts';
import { endOtherRoles, endRevoked } from './frames/admin/remove-token.ts';
import { leaveBehind, type WorkerThatEnded } from './frames/admin/worker-exit.ts';
import { ConnectedCallers } from './frames/connected-callers.ts';
import { TailFollowers } from './frames/tail-followers.ts';
import type { BrokerHealth } from './health/broker-health.ts';
import { ownVersion } from './health/own-version.ts';
import { Holds } from './holds/holds.ts';
import { AgentBudgets } from './limits/agent-budgets.ts';
import { RateLimit } from './limits/rate-limit.ts';
import { MessageMeter } from './metrics/message-meter.ts';
import { Metrics } from './metrics/metrics.ts';
import { OrchestratorReports } from './metrics/orchestrator-reports.ts';
import { PendingByRole } from './metrics/pending-by-role.ts';
import { refusalCodes } from './metrics/refusal-codes.ts';
import type { ReachedAt } from './reached-at.ts';
import { Schedules } from './schedules/schedules.ts';
import { OutboxFlusher } from './session/outbox-flusher.ts';
import type { SessionDeps } from './session/session.ts';
import type { Stores } from './stores-elsewhere.ts';
import { Webhooks } from './webhooks/webhooks.ts';

const suggestionsPerSecond = 20;
/** The time that another broker has to answer a question, in addition to its own waits, in milliseconds. */
const answerMs = 1000;

/**
 * Creates the parts that all sessions share: the tokens, the core that moves messages, and the connected callers. `onStoreFailed` is called
 * once if messages can't be made durable any more.
 */
export async function createSessionDeps(
  {
    dataDir,
    stores,
    limits,
    policies,
    roles,
    groups,
    hooks,
    schedules,
    fault,
    now,
    monotonic,
    log,
  }: BrokerSettings,
  { inboxes: store, cluster, tokens: tokenStore, audit }: Stores,
  { health, onStoreFailed }: { health: BrokerHealth; onStoreFailed: (error: unknown) => void },
): Promise<SessionDeps & { pending: PendingByRole }> {
  const reached = await store.keptTime();
  const time = new ExpiryClock({
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
  const tokens = await TokenRegistry.load(tokenStore, time, newTokenId);
  const followers = new TailFollowers(now);
  const agents = await KnownAgents.load(tokenStore, tokens);
  const reachedAt: ReachedAt = { origins: [] };
  const talk = new BrokerTalk({
    presence: cluster.presence,
    newId: () => nanoid(12),
    onError: (error) => log({ level: 'error', event: 'told_in_vain', error }),
  });
  const holds = await Holds.load({
    store: tokenStore,
    tokens,
    time,
    newId: newTokenId,
    confirmElsewhere: async (withinMs) => {
      const { answers, silent } = await talk.askAll<boolean>('holds', undefined, withinMs + answerMs);
      return silent.length === 0 && answers.every(Boolean);
    },
  });
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
    if (change) followers.holdChanged(change);
  });
  const connected = new ConnectedCallers({
    presence: cluster.presence,
    newSerial: () => nanoid(8),
    now,
    monotonic,
  });
  tokens.onOrchestrator((agent) => endOtherRoles(agent, { connected, tokens }));
  const others = new TokenFollower({
    hasOthers: !cluster.isAlone,
    store: tokenStore,
    tokens,
    holds,
    agents,
    onRevoked: (ids) => endRevoked(ids, { connected, delivery }),
  });
  talk.on('holds', async () => {
    await others.follow();
    return holds.confirmed();
  });
  talk.on('worker_exited', (worker: WorkerThatEnded) => leaveBehind(worker, { connected, delivery }));
  const self = { version: await ownVersion(), startedAt: now(), freeBytes: () => freeBytes(dataDir) };
  const reports = new OrchestratorReports({ monotonic, log });
  const pending = new PendingByRole({ store, rolesOf: (agent) => tokens.rolesOf(agent), now });
  const webhooks = new Webhooks(hooks, reachedAt);
  return {
    delivery,
    store,
    presence: cluster.presence,
    tokens,
    others,
    agents,
    groups: new Groups(tokens, roles, groups),
    // Runs that were due after the time that the previous broker reached were missed.
    schedules: new Schedules(schedules, reached?.earliest ?? now()),
    webhooks,
    reachedAt,
    signIns: new SignInCodes(monotonic),
    holds,
    policies,
    minting: new MintingLimits(limits, tokens),
    budgets: new AgentBudgets(limits, monotonic),
    connected,
    suggestions: new RateLimit(suggestionsPerSecond, suggestionsPerSecond, monotonic()),
    followers,
    tailRelay: new TailRelay({ talk, followers, run: nanoid(12), monotonic }),
    talk,
    backups: new Backups({
      dataDir,
      brokerId: await store.identity(),
      noBackup: stores?.noBackup,
      flush: () => agents.save(),
      newId: () => `backup-${nanoid(12)}`,
      now,
      log,
    }),
    audit,
    flusher: new OutboxFlusher(fault),
    limits,
    self,
    pending,
    reports,
    metrics: new Metrics({
      meter,
      pending,
      reports,
      health,
      connected,
      delivery,
      store,
      holds,
      limits,
      webhooks,
      self,
      codes: refusalCodes,
      monotonic,
    }),
    get receiptMeans() {
      return store.caps.receiptMeans;
    },
    time,
    now,
    monotonic,
    log,
  };
}

async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
