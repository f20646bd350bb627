import type { AuditLog, InboxStore } from '@signalbox/store';
import type { IdentityParts } from '../auth/identity-parts.ts';
import type { Backups } from '../backup/backups.ts';
import type { ClusterParts } from '../cluster/cluster-parts.ts';
import type { Delivery } from '../core/delivery.ts';
import type { ExpiryClock } from '../core/time/expiry-clock.ts';
import type { Holds } from '../holds/holds.ts';
import type { Lanes } from '../lanes/lanes.ts';
import type { AgentBudgets } from '../limits/agent-budgets.ts';
import type { RateLimit } from '../limits/rate-limit.ts';
import type { RoleLimits } from '../limits/role-limits.ts';
import type { Log } from '../log.ts';
import type { MetricsParts } from '../metrics/metrics-parts.ts';
import type { ReachedAt } from '../reached-at.ts';
import type { Schedules } from '../schedules/schedules.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import type { ConnectedCallers } from './connected-callers.ts';
import type { FailedPrograms } from './failed-programs.ts';
import type { RightsFollowers } from './rights-followers.ts';
import type { TailFollowers } from './tail-followers.ts';

/** The dependencies of the handlers of frames: the parts of each feature. Each handler names the few that it needs. */
export interface FrameDeps extends IdentityParts, ClusterParts, MetricsParts {
  delivery: Delivery;
  /** The store, only for look-ups. `delivery` stores and settles messages. */
  store: Pick<
    InboxStore,
    | 'read'
    | 'find'
    | 'findOfAnySender'
    | 'requestState'
    | 'stats'
    | 'backlog'
    | 'waiting'
    | 'usage'
    | 'history'
    | 'dead'
    | 'scheduled'
    | 'kept'
    | 'countExpired'
  >;
  holds: Holds;
  lanes: Lanes;
  webhooks: Webhooks;
  schedules: Schedules;
  reachedAt: ReachedAt;
  /** The budget of each agent. */
  budgets: AgentBudgets;
  connected: ConnectedCallers;
  programs: FailedPrograms;
  /** Limits how often a refusal of an unknown recipient suggests names. */
  suggestions: RateLimit;
  followers: TailFollowers;
  rights: RightsFollowers;
  backups: Backups;
  audit: AuditLog;
  limits: RoleLimits;
  /** The meaning of a receipt, as `welcome.receipt_means` states it. */
  receiptMeans: string;
  time: ExpiryClock;
  /** Returns epoch milliseconds. */
  now: () => number;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
  log: Log;
}
