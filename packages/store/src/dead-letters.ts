import type { ExpiryTime } from './expiry-time.ts';
import type { StoredMetadata } from './message.ts';

/** A message that was settled as `dead`, without its body. `deadAt` is in epoch milliseconds. */
export interface DeadLetter extends StoredMetadata {
  deadAt: number;
  reason: string;
}

/** The answer to {@link DeadLetters.retry}. A refused dead letter stays; `damaged` is one that has lost its body. */
export type Retried =
  | { result: 'stored'; inbox: string; seq: number }
  | { result: 'unknown' }
  | { result: 'damaged' }
  | { result: 'id_conflict' }
  | { result: 'inbox_full' }
  | { result: 'storage_full' };

/**
 * The messages that were settled as `dead`, under the sequence numbers that they had. They are kept for 30 days, up to 10,000
 * of them and 256 MiB of bodies, and of each sender and for each recipient agent up to 2,000 and 64 MiB. Beyond that
 * {@link DeadLetters.trim} drops those that died first, of the sender with the most.
 */
export interface DeadLetters {
  /** Dead letters of one inbox, or of all, after `afterSeq`, by ascending sequence numbers. */
  list(inbox: string | undefined, afterSeq: number, limit: number): Promise<DeadLetter[]>;
  /** The number of all dead letters. It is known without looking at them. */
  count(): Promise<number>;
  find(seq: number): Promise<(DeadLetter & { body?: string | undefined }) | undefined>;
  /**
   * Moves a dead letter back into its inbox as a new message with the same id. It has a new sequence number, no attempts, and
   * from `now` on the lifetime that it had at first. Its id is no repeat, although it was settled; a pending message of its sender
   * with the same id is a conflict. It counted as a dead letter, so the caps of its sender and its recipient
   * hold already; those of the inbox and the store are checked.
   */
  retry(seq: number, now: number): Promise<Retried>;
  /** Drops a dead letter; false if there is none. */
  drop(seq: number): Promise<boolean>;
  /** Does one small step of housekeeping: drops some dead letters that are beyond the bounds, and returns them. */
  trim(time: ExpiryTime): Promise<DeadLetter[]>;
}
