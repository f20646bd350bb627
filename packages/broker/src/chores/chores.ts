import { laneLimits } from '@signalbox/protocol';
import { holdSubject } from '@signalbox/protocol/internal';
import { type AuditLog, type ClusterPort, type InboxStore, isFinalFailure } from '@signalbox/store';
import { auditEvent } from '../audit-event.ts';
import type { KnownAgents } from '../auth/known-agents.ts';
import type { TokenRegistry } from '../auth/token-registry.ts';
import { describeExpired } from '../auth/token-rules.ts';
import type { TailRelay } from '../cluster/tail-relay.ts';
import type { TokenFollower } from '../cluster/token-follower.ts';
import type { Delivery } from '../core/delivery.ts';
import type { ExpiryClock } from '../core/time/expiry-clock.ts';
import type { ConnectedCallers } from '../frames/connected-callers.ts';
import type { TailFollowers } from '../frames/tail-followers.ts';
import type { Holds } from '../holds/holds.ts';
import type { Lanes } from '../lanes/lanes.ts';
import type { AgentBudgets } from '../limits/agent-budgets.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { PendingByRole } from '../metrics/pending-by-role.ts';
import type { ScheduleRuns } from '../schedules/schedule-runs.ts';
import { AuditWatch } from './audit-watch.ts';
import { Housekeeping } from './housekeeping.ts';

/** The time for which an expired child token is kept, in milliseconds, so that a caller who still uses it is told that it has expired. */
const expiredTokenMs = 10 * 60 * 1000;
const expiredTokensPerStep = 200;
/**
 * The longest time for which a client stays connected to a cut-off broker, in milliseconds. After that time its connection counts as
 * healthy, so it reconnects at once.
 */
const cutOffMs = 10_000;

/** The dependencies of the chores. */
export interface ChoreDeps {
  inboxes: InboxStore;
  cluster: Pick<ClusterPort, 'keepsHouse' | 'isCutOff'>;
  delivery: Delivery;
  tokens: TokenRegistry;
  others: TokenFollower;
  agents: KnownAgents;
  budgets: AgentBudgets;
  holds: Holds;
  lanes: Lanes;
  connected: ConnectedCallers;
  followers: TailFollowers;
  tailRelay: TailRelay;
  pending: PendingByRole;
  metrics: Pick<Metrics, 'measureStore'>;
  runs: ScheduleRuns;
  audit: AuditLog;
  time: ExpiryClock;
  /** Stores the time that this broker has reached. */
  keepTime: () => Promise<void>;
  now: () => number;
  monotonic: () => number;
  log: Log;
  /** Called if the store has failed for good. */
  onStoreFailed: (error: unknown) => void;
  /** Called repeatedly while the broker is cut off from its store, and others may serve its clients. */
  onCutOff: () => void;
}

/**
 * Starts the work that a broker repeats while it runs. Each chore stops when it is disposed. Chores that concern only the store, and no
 * connection, are done by the broker that keeps house.
 */
export function startChores(deps: ChoreDeps): AsyncDisposable[] {
  const { inboxes, delivery, followers, agents, budgets, log, onStoreFailed } = deps;
  const auditWatch = new AuditWatch(deps.audit, log);
  auditWatch.check();
  const housekeeping = new Housekeeping({ store: inboxes, ...deps });
  const onError = (error: unknown): void => {
    log({ level: 'error', event: 'housekeeping_failed', error });
    if (isFinalFailure(error)) onStoreFailed(error);
  };
  return [
    repeat(250, () => delivery.deadlines.check(), onError),
    repeat(250, () => delivery.releases.check(), onError),
    repeat(250, () => deps.runs.check(), onError),
    repeat(250, async () => followers.catchUp(), onError),
    repeat(1000, () => deps.tailRelay.check(), onError),
    repeat(100, () => deps.tailRelay.send(), onError),
    repeat(1000, () => deps.pending.step(), onError),
    repeat(500, () => endExpiredTokens(deps), onError),
    repeat(1000, () => housekeeping.step(), onError),
    repeat(1000, keptBodiesIndexer(deps), onError),
    repeat(500, () => endExpiredHolds(deps), onError),
    repeat(1000, () => agents.save(), onError),
    repeat(1000, async () => budgets.prune(), onError),
    repeat(laneLimits.beatMs, async () => deps.lanes.beat(), onError),
    repeat(60_000, async () => auditWatch.check(), onError),
    repeat(10_000, deps.keepTime, onError),
    repeat(
      10_000,
      async () => {
        await deps.metrics.measureStore();
      },
      onError,
    ),
    repeat(500, whileCutOff(deps), onError),
  ];
}

/** Calls `onCutOff` when the broker is cut off, and repeatedly while it is. */
function whileCutOff({ cluster, monotonic, onCutOff }: ChoreDeps): () => Promise<void> {
  let calledAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (!cluster.isCutOff || monotonic() - calledAt < cutOffMs) return;
    calledAt = monotonic();
    onCutOff();
  };
}

/** The share of its time, in the last second, from which a process counts as busy; and the seconds after which the index goes on all the same. */
const busyShare = 0.7;
const longestWaitSteps = 10;
/** The longest time of one step of the index, in milliseconds. */
const indexMs = 20;

/** Brings kept bodies into their index while the process has little else to do. */
function keptBodiesIndexer({ inboxes, cluster, now, monotonic }: ChoreDeps): () => Promise<void> {
  let last = performance.eventLoopUtilization();
  let waited = 0;
  return async () => {
    const present = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(present, last);
    last = present;
    if (!cluster.keepsHouse || (utilization > busyShare && ++waited < longestWaitSteps)) return;
    waited = 0;
    const until = monotonic() + indexMs;
    while ((await inboxes.kept.index(now())) && monotonic() < until);
  };
}

/**
 * Applies the changes that other brokers made to tokens. Ends the connections of expired tokens, and gives up the requests that were sent
 * with them.
 */
async function endExpiredTokens({ cluster, connected, tokens, others, delivery }: ChoreDeps): Promise<void> {
  await others.follow();
  connected.endWhere(
    ({ token }) => !tokens.isLive(token),
    ({ token }) => describeExpired(token),
  );
  await tokens.dropExpiredOfProvider();
  if (!cluster.keepsHouse) return;
  // A broker that takes over begins with all expired tokens.
  for (const id of tokens.takeExpired()) {
    await delivery.cancellations.cancelSentWith(id, 'the token it was sent with has expired');
  }
  await tokens.removeExpiredChildren(expiredTokenMs, expiredTokensPerStep);
}

/** Ends the holds whose time is over. Updates the targets of the others, since tokens may have changed. */
async function endExpiredHolds({ cluster, holds, now }: ChoreDeps): Promise<void> {
  for (const hold of cluster.keepsHouse ? holds.expired() : []) {
    const detail = `hold ${hold.id} on ${holdSubject(hold)}: its time is over`;
    const name = hold.name === undefined ? {} : { name: hold.name };
    await holds.end(hold, auditEvent('hold_ended', { at: now(), detail, ...name }));
  }
  holds.tokensMayHaveChanged();
}

/**
 * Runs `step` every `everyMs` milliseconds, but not while the previous step still runs. A step that rejects is reported to `onError`, and
 * the repetition continues. Disposing ends it, and waits for a running step.
 */
function repeat(
  everyMs: number,
  step: () => Promise<void>,
  onError: (error: unknown) => void,
): AsyncDisposable {
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= step()
      .catch(onError)
      .finally(() => {
        running = undefined;
      });
  }, everyMs);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await running;
    },
  };
}
