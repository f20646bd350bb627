import type { ExpiryTime } from './expiry-time.ts';
import type { StoredMetadata } from './message.ts';

/** A message that was settled as `dead`, without its body. `deadAt` is in epoch milliseconds. */
export interface DeadLetter extends StoredMetadata {
  deadAt: number;
  reason: string;
}

/** The answer to {@link DeadLetters.retry}. A refused dead letter stays. `damaged` means that it has lost its body. */
export type Retried =
  | { result: 'stored'; inbox: string; seq: number }
  | { result: 'unknown' }
  | { result: 'damaged' }
  | { result: 'id_conflict' }
  | { result: 'inbox_full' }
  | { result: 'storage_full' };

/**
 * The messages that were settled as `dead`, under their former sequence numbers. They are kept for 30 days: at most 10,000 of them and 256
 * MiB of bodies, and at most 2,000 and 64 MiB of each sender and for each recipient agent. {@link DeadLetters.trim} drops those beyond
 * that: the ones that died first, of the sender with the most.
 */
export interface DeadLetters {
  /** Lists dead letters of one inbox, or of all, after `afterSeq`, by ascending sequence numbers. */
  list(inbox: string | undefined, afterSeq: number, limit: number): Promise<DeadLetter[]>;
  /** Counts all dead letters without reading them. */
  count(): Promise<number>;
  find(seq: number): Promise<(DeadLetter & { body?: string | undefined }) | undefined>;
  /**
   * Moves a dead letter back into its inbox as a new message with the same id. The message has a new sequence number and no attempts. Its
   * lifetime begins at `now`: the longer one of `leastMs` and its original lifetime. It is not treated as a repeat, although its id was
   * settled; a pending message of its sender with the same id is a conflict. It counted as a dead letter, so it is within the caps of its sender and its recipient; the caps of the
   * inbox and the store are checked.
   */
  retry(seq: number, now: number, leastMs?: number): Promise<Retried>;
  /** Drops a dead letter. Resolves with false if there is none. */
  drop(seq: number): Promise<boolean>;
  /** Does one small step of housekeeping: drops some dead letters that are beyond the bounds, and returns them. */
  trim(time: ExpiryTime): Promise<DeadLetter[]>;
}
