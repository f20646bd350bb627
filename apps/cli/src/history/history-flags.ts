import type { ConnectionFlags } from '../connection/connection.ts';

/** The options of `signalbox history`. `about` is the agent that it is about. */
export interface HistoryFlags extends ConnectionFlags {
  audit?: boolean;
  /** Shows what happened in this many milliseconds up to now. */
  since?: number;
  about?: string;
  correlation?: string;
  limit: number;
  orchestrator?: string;
  json?: boolean;
}
