import type { McpServerConfig, ServerSharing } from './server-config.ts';

export interface EffectivePolicy {
  share: ServerSharing;
  lazy: boolean;
  /** Infinite for an instance that stays up however long nobody uses it. */
  keepAliveMs: number;
  /** Infinite for a server that is only connected to: restarting is the business of whoever runs it. */
  maxRestarts: number;
  restartWindowMs: number;
}

const minuteMs = 60_000;

/** How a server is to be kept, with what its configuration leaves out. */
export function policyOf(config: McpServerConfig): EffectivePolicy {
  const { share = 'all', lazy = false, restartWindowMs = 5 * minuteMs } = config;
  const { maxRestarts = config.type === 'stdio' ? 5 : Number.POSITIVE_INFINITY } = config;
  const stays = (share === 'all' && !lazy) || config.keepAliveMs === 0;
  const keepAliveMs = stays ? Number.POSITIVE_INFINITY : (config.keepAliveMs ?? 5 * minuteMs);
  return { share, lazy, keepAliveMs, maxRestarts, restartWindowMs };
}
