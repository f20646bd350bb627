import type { ConnectionFlags } from '../../broker-connection/connection.ts';

/** `agent` is whom to run, or a pattern; times in milliseconds. */
export interface WorkerRunFlags extends ConnectionFlags {
  role?: string;
  ttl?: number;
  parent?: string;
  count: number;
  restart: 'never' | 'on-failure';
  restartDelay: number;
  stopTimeout: number;
  readyTimeout: number;
  tools: 'all' | 'search';
  inject: boolean;
  keepMcp?: boolean;
  dryRun?: boolean;
  json?: boolean;
}
