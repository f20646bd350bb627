import type { ConnectionFlags } from '../connection/connection.ts';

/** The options of `signalbox history`. `about` is the agent that it is about. */
export interface HistoryFlags extends ConnectionFlags {
  /** The kinds of entries of the audit log that are shown, with commas. `true` stands for the usual ones. */
  audit?: true | string;
  verify?: boolean;
  export?: boolean;
  /** Shows what happened in this many milliseconds up to now. */
  since?: number;
  about?: string;
  correlation?: string;
  limit: number;
  orchestrator?: string;
  json?: boolean;
}
