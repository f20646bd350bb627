import type { Limits } from '@signalbox/protocol';
import type { AuditLog, InboxStore } from '@signalbox/store';
import type { KnownAgents } from '../auth/known-agents.ts';
import type { RolePolicy } from '../auth/role-policy.ts';
import type { TokenRegistry } from '../auth/token-registry.ts';
import type { Delivery } from '../core/delivery.ts';
import type { Log } from '../log.ts';
import type { ConnectedCallers } from './connected-callers.ts';
import type { RateLimit } from './rate-limit.ts';
import type { Taps } from './taps.ts';

/** All that the handlers of frames work with. Each of them names the few ports that it needs. */
export interface FramePorts {
  delivery: Delivery;
  /** For looking only: messages come and go through `delivery`. */
  store: Pick<InboxStore, 'read' | 'find' | 'stats' | 'usage' | 'history' | 'dead'>;
  tokens: TokenRegistry;
  agents: KnownAgents;
  policies: Readonly<Record<string, RolePolicy>>;
  connected: ConnectedCallers;
  /** Bounds how often a misspelt recipient is answered with suggestions. */
  suggestions: RateLimit;
  taps: Taps;
  audit: AuditLog;
  limits: Limits;
  /** What a receipt promises, as `welcome` and the operation `stats` tell it. */
  receiptMeans: string;
  now: () => number;
  log: Log;
}
