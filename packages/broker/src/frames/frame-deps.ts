import type { AuditLog, InboxStore, PresencePort } from '@signalbox/store';
import type { Groups } from '../auth/groups.ts';
import type { KnownAgents } from '../auth/known-agents.ts';
import type { MintingLimits } from '../auth/minting-limits.ts';
import type { RolePolicy } from '../auth/role-policy.ts';
import type { SignInCodes } from '../auth/sign-in-codes.ts';
import type { TokenRegistry } from '../auth/token-registry.ts';
import type { Backups } from '../backup/backups.ts';
import type { BrokerTalk } from '../cluster/broker-talk.ts';
import type { TailRelay } from '../cluster/tail-relay.ts';
import type { TokenFollower } from '../cluster/token-follower.ts';
import type { Delivery } from '../core/delivery.ts';
import type { ExpiryClock } from '../core/time/expiry-clock.ts';
import type { Holds } from '../holds/holds.ts';
import type { AgentBudgets } from '../limits/agent-budgets.ts';
import type { RateLimit } from '../limits/rate-limit.ts';
import type { RoleLimits } from '../limits/role-limits.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { OrchestratorReports } from '../metrics/orchestrator-reports.ts';
import type { ReachedAt } from '../reached-at.ts';
import type { Schedules } from '../schedules/schedules.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import type { ConnectedCallers } from './connected-callers.ts';
import type { TailFollowers } from './tail-followers.ts';

/** Facts about a broker as a process. */
export interface BrokerSelf {
  version: string;
  /** Epoch milliseconds. */
  startedAt: number;
  /** Returns the free bytes on the disk of the data directory. */
  freeBytes: () => Promise<number>;
}

/** The dependencies of the handlers of frames. Each handler names the few that it needs. */
export interface FrameDeps {
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
    | 'countExpired'
  >;
  /** Knows the callers that are connected to other brokers. */
  presence: PresencePort;
  tokens: TokenRegistry;
  /** Applies the changes of other brokers to tokens and holds. */
  others: TokenFollower;
  minting: MintingLimits;
  agents: KnownAgents;
  groups: Groups;
  holds: Holds;
  webhooks: Webhooks;
  schedules: Schedules;
  reachedAt: ReachedAt;
  signIns: SignInCodes;
  /** The budget of each agent. */
  budgets: AgentBudgets;
  /** The rules of each role that differ from the default, by role. */
  policies: Readonly<Record<string, RolePolicy>>;
  connected: ConnectedCallers;
  /** Limits how often a refusal of an unknown recipient suggests names. */
  suggestions: RateLimit;
  followers: TailFollowers;
  /** Makes other brokers send their events. */
  tailRelay: TailRelay;
  /** Asks other brokers. */
  talk: BrokerTalk;
  backups: Backups;
  audit: AuditLog;
  limits: RoleLimits;
  metrics: Metrics;
  reports: OrchestratorReports;
  /** Facts about this broker as a process. */
  self: BrokerSelf;
  /** The meaning of a receipt, as `welcome.receipt_means` states it. */
  receiptMeans: string;
  time: ExpiryClock;
  /** Returns epoch milliseconds. */
  now: () => number;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
  log: Log;
}
