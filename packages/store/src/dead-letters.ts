import type { StoredMetadata } from './message.ts';

/** A message that was given up, without its body. `deadAt` in epoch milliseconds. */
export interface DeadLetter extends StoredMetadata {
  deadAt: number;
  reason: string;
}

/** What became of one dead letter that was to be tried again; the refusals leave it where it is. */
export type Retried =
  | { result: 'stored'; inbox: string; seq: number }
  | { result: 'unknown' }
  | { result: 'id_conflict' }
  | { result: 'inbox_full' }
  | { result: 'storage_full' };

/**
 * Messages settled as `dead`, whole, by the sequence numbers they had. Kept 30 days, and at most 10,000 of them or
 * 256 MiB of bodies: beyond that the oldest go.
 */
export interface DeadLetters {
  /** Those of one inbox, or all, after `afterSeq`, in order. */
  list(inbox: string | undefined, afterSeq: number, limit: number): Promise<DeadLetter[]>;
  find(seq: number): Promise<(DeadLetter & { body?: string | undefined }) | undefined>;
  /**
   * Moves one back into its inbox, as a new message under its old id: a new sequence number, no attempts, and from
   * `now` on the lifetime that it had at first. That its id was settled before doesn't matter.
   */
  retry(seq: number, now: number): Promise<Retried>;
  /** Forgets one; false if there is none. */
  drop(seq: number): Promise<boolean>;
  /** One small step: drops some that are beyond the bounds, and returns those. */
  trim(now: number): Promise<DeadLetter[]>;
}
