import { BloomFilter, hashOfId } from './bloom-filter.ts';
import { IdRanges } from './id-ranges.ts';
import type { Segment } from './segment.ts';

const segmentsPerGroup = 64;

/** Consecutive segments that share the data which tells whether an id may be in one of them. */
interface Group {
  /** The segments, the oldest first. */
  readonly segments: Segment[];
  readonly ids: IdRanges;
  /** Made for the first id within the ranges: new ids that sort by time never are. */
  filter: BloomFilter | undefined;
}

/**
 * Tells which segments may hold a message with an id. Most ids are new, so it must exclude segments quickly: first by the ranges of all
 * ids, then by the ranges and the Bloom filter of each group, and last by the hashes of a segment, which are on disk.
 */
export class SegmentIndex {
  readonly #readHashes: (segment: number) => Uint32Array;
  /** The groups, the oldest first. */
  #groups: Group[] = [];
  #ids = new IdRanges();
  #size = 0;

  /** `readHashes` reads the hashes of a segment's ids. */
  constructor(readHashes: (segment: number) => Uint32Array) {
    this.#readHashes = readHashes;
  }

  /** Returns false if no segment holds this id. */
  mayHold(id: string): boolean {
    return this.#ids.mayHold(id);
  }

  /** Yields the segments that may hold this id, the newest first. */
  *candidates(id: string): Iterable<Segment> {
    const hash = hashOfId(id);
    for (let at = this.#groups.length - 1; at >= 0; at--) {
      const group = this.#groups[at]!;
      if (!group.ids.mayHold(id) || !this.#filterOf(group).mayHold(hash)) continue;
      for (const segment of group.segments.toReversed())
        if (segment.ids.mayHold(id) && this.#readHashes(segment.number).includes(hash)) yield segment;
    }
  }

  /** Adds a segment that is newer than all others. */
  add(segment: Segment): void {
    let group = this.#groups.at(-1);
    if (!group || group.segments.length >= segmentsPerGroup) {
      group = { segments: [], ids: new IdRanges(), filter: undefined };
      this.#groups.push(group);
    }
    group.segments.push(segment);
    group.ids.include(segment.ids);
    if (group.filter) this.#addHashes(group.filter, segment);
    this.#ids.include(segment.ids);
    this.#size++;
  }

  remove(segment: Segment): void {
    const group = this.#groupOf(segment);
    const at = group?.segments.indexOf(segment) ?? -1;
    if (!group || at < 0) return;
    group.segments.splice(at, 1);
    this.#size--;
    if (group.segments.length === 0) this.#dropGroup(group);
    else if (this.#groups.length > 2 + (2 * this.#size) / segmentsPerGroup) this.#regroup();
  }

  clear(): void {
    this.#groups = [];
    this.#ids = new IdRanges();
    this.#size = 0;
  }

  /** Returns the last group whose first segment is not newer than this one. */
  #groupOf({ number }: Segment): Group | undefined {
    let from = 0;
    let to = this.#groups.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.#groups[middle]!.segments[0]!.number <= number) from = middle + 1;
      else to = middle;
    }
    return this.#groups[from - 1];
  }

  #dropGroup(group: Group): void {
    this.#groups = this.#groups.filter((other) => other !== group);
    this.#ids = new IdRanges();
    for (const { ids } of this.#groups) this.#ids.include(ids);
  }

  /** Fills groups that have become small: each may have a filter in memory. */
  #regroup(): void {
    const segments = this.#groups.flatMap((group) => group.segments);
    this.clear();
    for (const segment of segments) this.add(segment);
  }

  #filterOf(group: Group): BloomFilter {
    if (group.filter) return group.filter;
    group.filter = new BloomFilter();
    for (const segment of group.segments) this.#addHashes(group.filter, segment);
    return group.filter;
  }

  #addHashes(filter: BloomFilter, { number }: Segment): void {
    for (const hash of this.#readHashes(number)) filter.add(hash);
  }
}
