import type { Limits } from '@signalbox/protocol';
import type { AuditLog, InboxStore } from '@signalbox/store';
import type { KnownAgents } from '../auth/known-agents.ts';
import type { RolePolicy } from '../auth/role-policy.ts';
import type { TokenRegistry } from '../auth/token-registry.ts';
import type { Delivery } from '../core/delivery.ts';
import type { Log } from '../log.ts';
import type { ConnectedCallers } from './connected-callers.ts';
import type { RateLimit } from './rate-limit.ts';
import type { TailFollowers } from './tail-followers.ts';

/** The dependencies of all handlers of frames. Each handler names the few that it needs. */
export interface FrameDeps {
  delivery: Delivery;
  /** Serves look-ups only: messages come and go through `delivery`. */
  store: Pick<InboxStore, 'read' | 'find' | 'stats' | 'usage' | 'history' | 'dead'>;
  tokens: TokenRegistry;
  agents: KnownAgents;
  /** By role: what it may send, where that differs from the default. */
  policies: Readonly<Record<string, RolePolicy>>;
  connected: ConnectedCallers;
  /** Bounds how often a misspelt recipient is answered with suggestions. */
  suggestions: RateLimit;
  followers: TailFollowers;
  audit: AuditLog;
  limits: Limits;
  /** The promise of a receipt, as `welcome` and the operation `stats` tell it. */
  receiptMeans: string;
  now: () => number;
  log: Log;
}
