import type { Segment, Segments } from './segments.ts';

/** How long settled messages are remembered. */
export interface RetentionLimits {
  /** Settled messages are remembered at least this long. */
  dedupeWindowMs: number;
  /** After this time they are forgotten, segment by segment. */
  retentionMs: number;
  /** Old segments go sooner when all of them take more than this, but never within the dedupe window. */
  retentionBytes: number;
}

/** Most segments dropped in one step of housekeeping. */
const dropsPerStep = 8;

/** Drops segments of settled messages that are past their time. Transactions are the caller's. */
export class SettledSegments {
  readonly #segments: Segments;
  readonly #limits: RetentionLimits;

  constructor(segments: Segments, limits: RetentionLimits) {
    this.#segments = segments;
    this.#limits = limits;
  }

  /** Drops some old segments, the oldest first. */
  drop(now: number): void {
    const { dedupeWindowMs, retentionMs, retentionBytes } = this.#limits;
    const settled: Segment[] = [];
    let bytes = 0;
    for (const segment of this.#segments.all()) {
      if (segment.kind !== 'settled') continue;
      settled.push(segment);
      bytes += segment.bytes;
    }
    for (const segment of settled.slice(0, dropsPerStep)) {
      const age = now - segment.until;
      if (age < dedupeWindowMs || (age < retentionMs && bytes <= retentionBytes)) break;
      bytes -= segment.bytes;
      this.#segments.drop(segment);
    }
  }
}
