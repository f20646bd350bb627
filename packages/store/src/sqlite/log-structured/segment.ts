import type { IdRanges } from './id-ranges.ts';

/** The facts of a segment that are in memory. When it was written, all its messages were pending, or all were settled. */
export interface Segment {
  readonly number: number;
  readonly kind: 'pending' | 'settled';
  /** The number of its messages. */
  readonly messages: number;
  /** The number of its messages that are still pending; 0 in a settled segment. */
  pending: number;
  /**
   * The time when the last message of a settled segment was settled, or when the first one of a pending segment expires. In epoch
   * milliseconds.
   */
  until: number;
  /**
   * The time until which a request of a settled segment can be answered, in epoch milliseconds; 0 in a pending segment and without
   * requests.
   */
  readonly openUntil: number;
  /** The fill of a segment of pending messages when it was written; 1 is full. */
  readonly fill: number;
  /** The approximate size on disk. */
  readonly bytes: number;
  /** Tells which ids it may hold. */
  readonly ids: IdRanges;
  /** The tokens with which the messages of a pending segment were sent. */
  readonly tokenIds: readonly string[];
}
