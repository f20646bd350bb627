import type { CallRecord, TailNotice } from '@signalbox/protocol';

/**
 * An event of a tail: one of the broker, a new state of a tool call, or a gap in the tail. After `calls_missing` the
 * orchestrator cannot be asked; after `disconnected` nothing is reported until `reconnected`.
 */
export type TailEvent =
  | TailNotice
  | { what: 'call'; at: number; call: CallRecord }
  | { what: 'calls_missing'; at: number; code: string; message: string }
  | { what: 'disconnected' | 'reconnected'; at: number };
