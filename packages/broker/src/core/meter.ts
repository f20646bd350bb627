/**
 * Counts the operations of the core, and the time that the disk takes. Its methods are called for every message and must cost next to
 * nothing.
 */
export interface Meter {
  /** A message of this kind was stored. */
  stored(kind: string): void;
  /** A message came into its inbox this many milliseconds after it was due. */
  released(lateMs: number): void;
  /** A message was pushed to its consumer, after this many failed attempts. */
  pushed(kind: string, attempts: number): void;
  /** A message was settled. */
  settled(kind: string, outcome: string): void;
  /** A message became a dead letter. */
  died(reason: string): void;
  /** A commit was written. */
  committed(ms: number): void;
  /** The commits so far were synced to the disk. */
  synced(ms: number): void;
}

/** Counts nothing. */
export const noMeter: Meter = {
  stored() {},
  released() {},
  pushed() {},
  settled() {},
  died() {},
  committed() {},
  synced() {},
};
