import type { IdRanges } from './id-ranges.ts';

/** What is in memory of a segment. All its messages were pending when it was written, or all were settled. */
export interface Segment {
  readonly number: number;
  readonly kind: 'pending' | 'settled';
  /** How many messages it holds. */
  readonly messages: number;
  /** How many of them are still pending; 0 in a settled segment. */
  pending: number;
  /** When the last message of a settled segment was settled, or the first one of a pending segment expires. */
  until: number;
  /** When the last request of a settled segment can be answered no more; 0 in a pending segment and without requests. */
  readonly openUntil: number;
  /** How full a segment of pending messages was when it was written, 1 for full. */
  readonly fill: number;
  /** Size on disk, roughly. */
  readonly bytes: number;
  /** The ids that it may hold. */
  readonly ids: IdRanges;
  /** The tokens with which messages of a pending segment were sent. */
  readonly tokenIds: readonly string[];
}
