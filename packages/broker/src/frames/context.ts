import type { Limits } from '@signalbox/protocol';
import type { AuditLog, InboxStore } from '@signalbox/store';
import type { KnownAgents } from '../auth/known-agents.ts';
import type { RolePolicy } from '../auth/role-policy.ts';
import type { TokenRegistry } from '../auth/token-registry.ts';
import type { Delivery } from '../core/delivery.ts';
import type { Log } from '../log.ts';
import type { Flusher } from '../session/flusher.ts';
import type { RateLimit } from './rate-limit.ts';
import type { SessionTable } from './session-table.ts';
import type { Taps } from './taps.ts';

/** What every session works with. */
export interface SessionContext {
  brokerId: string;
  delivery: Delivery;
  /** For looking only: messages come and go through `delivery`. */
  store: Pick<InboxStore, 'read' | 'find' | 'stats' | 'usage' | 'history' | 'dead'>;
  tokens: TokenRegistry;
  agents: KnownAgents;
  /** Bounds how often a misspelt recipient is answered with suggestions. */
  suggestions: RateLimit;
  sessions: SessionTable;
  taps: Taps;
  audit: AuditLog;
  flusher: Flusher;
  limits: Limits;
  policies: Readonly<Record<string, RolePolicy>>;
  heartbeatMs: number;
  receiptMeans: string;
  dedupeWindowMs: number;
  now: () => number;
  log: Log;
}
