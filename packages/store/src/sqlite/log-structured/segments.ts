import { crc32 } from 'node:zlib';
import type { Database, Statement } from 'better-sqlite3';
import { ageOf, type ExpiryTime } from '../../expiry-time.ts';
import type { LoggedMessage } from '../../logged-message.ts';
import { rowChecksum } from '../row-checksum.ts';
import { hashOfId } from './bloom-filter.ts';
import { DamageFound } from './damage-found.ts';
import { IdRanges } from './id-ranges.ts';
import { decodeMessages, type EncodedRecord, encodeMessages, RecordEncoder } from './record-codec.ts';
import type { Segment } from './segment.ts';
import { SegmentIndex } from './segment-index.ts';

type SegmentRow = Omit<Segment, 'ids' | 'tokenIds'> & { ids: string; tokenIds: string; checksum: number };

/** The times and the size that bound how long settled messages are remembered. */
export interface RetentionLimits {
  /** The least time for which settled messages are remembered, in milliseconds. */
  dedupeWindowMs: number;
  /** The time after which they are forgotten, segment by segment, in milliseconds. */
  retentionMs: number;
  /** The total size beyond which old segments are dropped sooner, but never within the dedupe window. */
  retentionBytes: number;
}

/** The most old segments that one step of housekeeping drops. */
const dropsPerStep = 8;
/** The number of segments whose messages stay in memory after a read: a consumer acks the messages that it read, and then reads on. */
const maxCached = 4;

/**
 * Immutable segments, each a row with the record of some hundred messages. A row for each message, with its index entries, would cost more
 * than everything else that is done with a message. Transactions are the caller's.
 */
export class Segments {
  readonly #byNumber = new Map<number, Segment>();
  readonly #index = new SegmentIndex((segment) => this.#readHashes(segment));
  /** The segments whose number of pending messages must be saved. */
  readonly #changed = new Set<Segment>();
  readonly #cache = new Map<number, readonly LoggedMessage[]>();
  /** The numbers of the segments that were found to be damaged. */
  readonly #damaged = new Set<number>();
  readonly #encoder = new RecordEncoder();
  #lastNumber = 0;
  readonly #insert: Statement<[SegmentRow]>;
  readonly #insertContent: Statement<[number: number, hashes: Buffer, entries: string, bodies: Buffer]>;
  readonly #all: Statement<[], SegmentRow>;
  readonly #hashes: Statement<[number: number], Buffer>;
  readonly #content: Statement<[number: number], EncodedRecord>;
  readonly #setPending: Statement<[pending: number, number: number]>;
  readonly #drop: Statement<[number: number]>;
  readonly #dropContent: Statement<[number: number]>;
  readonly #contents: Statement<[], number>;

  constructor(db: Database) {
    this.#insert = db.prepare(
      `INSERT INTO segment
       VALUES (@number, @kind, @messages, @pending, @until, @openUntil, @fill, @bytes, @ids, @tokenIds, @checksum)`,
    );
    this.#insertContent = db.prepare('INSERT INTO segment_content VALUES (?, ?, ?, ?)');
    this.#all = db.prepare(
      `SELECT number, kind, messages, pending, until, open_until AS openUntil, fill, bytes, ids, token_ids AS tokenIds, checksum
       FROM segment ORDER BY number`,
    );
    this.#hashes = db
      .prepare<[number], Buffer>('SELECT hashes FROM segment_content WHERE number = ?')
      .pluck();
    this.#content = db.prepare('SELECT entries, bodies FROM segment_content WHERE number = ?');
    this.#setPending = db.prepare('UPDATE segment SET pending = ? WHERE number = ?');
    this.#drop = db.prepare('DELETE FROM segment WHERE number = ?');
    this.#dropContent = db.prepare('DELETE FROM segment_content WHERE number = ?');
    this.#contents = db.prepare<[], number>('SELECT number FROM segment_content').pluck();
    this.reload();
  }

  /** Reads the facts of segments into memory, at the start and after a rollback. */
  reload(): void {
    this.#byNumber.clear();
    this.#index.clear();
    this.#changed.clear();
    this.#cache.clear();
    this.#damaged.clear();
    for (const row of this.#all.iterate()) {
      if (row.checksum !== checksumOf(row)) {
        this.#damaged.add(row.number);
        this.#lastNumber = Math.max(this.#lastNumber, row.number);
        continue;
      }
      const tokenIds = JSON.parse(row.tokenIds) as string[];
      this.#include({ ...row, ids: IdRanges.parse(row.ids), tokenIds });
    }
  }

  /** Iterates over all segments, the oldest first, including those that are written during the iteration. */
  all(): Iterable<Segment> {
    return this.#byNumber.values();
  }

  /** Writes messages as a segment. All must be pending, or all settled. */
  write(kind: Segment['kind'], messages: readonly LoggedMessage[], fill = 1): Segment {
    const number = this.#lastNumber + 1;
    const { entries, bodies } = encodeMessages(messages, number, this.#encoder);
    const hashes = new Uint32Array(messages.length);
    const ids = new IdRanges();
    messages.forEach(({ id }, n) => {
      hashes[n] = hashOfId(id);
      ids.add(id);
    });
    const segment: Segment = {
      number,
      kind,
      messages: messages.length,
      pending: kind === 'pending' ? messages.length : 0,
      until: kind === 'pending' ? firstExpiry(messages) : lastEnding(messages),
      openUntil: kind === 'pending' ? 0 : lastOpen(messages),
      fill,
      bytes: entries.length + bodies.length + hashes.byteLength,
      ids,
      tokenIds: kind === 'pending' ? tokenIdsOf(messages) : [],
    };
    const texts = { ids: ids.toString(), tokenIds: JSON.stringify(segment.tokenIds) };
    this.#insert.run({ ...segment, ...texts, checksum: checksumOf({ ...segment, ...texts }) });
    this.#insertContent.run(number, withChecksum(hashes), entries, bodies);
    this.#include(segment);
    return segment;
  }

  /** Reads the messages of a segment in the order in which they were written; none if it was dropped. Throws {@link DamageFound}. */
  read(number: number): readonly LoggedMessage[] {
    const cached = this.#cache.get(number);
    if (cached) return cached;
    const content = this.#content.get(number);
    if (!content) return [];
    const { messages, isWhole } = decodeMessages(content, number);
    if (!isWhole) throw new DamageFound(number);
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size < maxCached) break;
      this.#cache.delete(oldest);
    }
    this.#cache.set(number, messages);
    return messages;
  }

  /** Returns false if no segment holds this id. */
  mayHold(id: string): boolean {
    return this.#index.mayHold(id);
  }

  /** Finds the newest message with this id that `isMeant` accepts, and the segment that holds it. */
  find(
    id: string,
    isMeant: (message: LoggedMessage, segment: Segment) => boolean,
  ): LoggedMessage | undefined {
    for (const segment of this.#index.candidates(id)) {
      const found = this.read(segment.number).findLast((one) => one.id === id && isMeant(one, segment));
      if (found) return found;
    }
    return undefined;
  }

  /** Counts a message of a pending segment as no longer pending. Drops the segment with its last one. */
  countOff(number: number): Segment | undefined {
    const segment = this.#byNumber.get(number);
    if (!segment) return undefined;
    segment.pending--;
    if (segment.pending === 0) this.drop(segment);
    else this.#changed.add(segment);
    return segment;
  }

  /**
   * Returns the readable messages of a segment, damaged or not, and whether they are all. A message without an ending was pending when the
   * segment was written.
   */
  salvage(number: number): { messages: LoggedMessage[]; isWhole: boolean } {
    const content = this.#content.get(number);
    return content ? decodeMessages(content, number) : { messages: [], isWhole: false };
  }

  /** Tells whether the hashes by which a segment's messages are found are undamaged. */
  hasSoundHashes(number: number): boolean {
    const bytes = this.#hashes.get(number);
    return bytes === undefined || withoutChecksum(bytes) !== undefined;
  }

  /**
   * Returns the numbers of damaged segments. It compares the tables with each other, but reads no content. `pendingOf` gives the number of
   * each segment's messages in ranges.
   */
  damaged(pendingOf: ReadonlyMap<number, number>): Set<number> {
    const damaged = new Set(this.#damaged);
    const contents = new Set(this.#contents.iterate());
    for (const { number, pending } of this.#byNumber.values())
      if (!contents.has(number) || pending !== (pendingOf.get(number) ?? 0)) damaged.add(number);
    for (const number of [...contents, ...pendingOf.keys()])
      if (!this.#byNumber.has(number)) damaged.add(number);
    return damaged;
  }

  /** Returns the facts of a segment; undefined if they were damaged. */
  get(number: number): Segment | undefined {
    return this.#byNumber.get(number);
  }

  /** Drops all rows of a segment about which nothing else is known. */
  dropDamaged(number: number): void {
    const segment = this.#byNumber.get(number);
    if (segment) this.drop(segment);
    else {
      this.#drop.run(number);
      this.#dropContent.run(number);
    }
  }

  drop(segment: Segment): void {
    const { number } = segment;
    this.#drop.run(number);
    this.#dropContent.run(number);
    this.#byNumber.delete(number);
    this.#cache.delete(number);
    this.#changed.delete(segment);
    this.#index.remove(segment);
  }

  /**
   * Drops some segments of settled messages whose time is over, the oldest first. `keepOpen` is called first with each segment that may
   * hold a request which can still be answered.
   */
  dropOld(
    { dedupeWindowMs, retentionMs, retentionBytes }: RetentionLimits,
    time: ExpiryTime,
    keepOpen: (segment: Segment) => void,
  ): void {
    const settled = [...this.#byNumber.values()].filter(({ kind }) => kind === 'settled');
    let bytes = settled.reduce((sum, segment) => sum + segment.bytes, 0);
    let dropped = 0;
    for (const segment of settled) {
      const age = ageOf(segment.until, time);
      // Later segments may be dropped although this one is kept longer.
      if (age < dedupeWindowMs || (age < retentionMs && bytes <= retentionBytes)) continue;
      bytes -= segment.bytes;
      if (segment.openUntil > time.earliest) keepOpen(segment);
      this.drop(segment);
      if (++dropped === dropsPerStep) break;
    }
  }

  /** Writes the changed numbers of pending messages. Call it as one of the last steps of a transaction. */
  save(): void {
    for (const { pending, number } of this.#changed) this.#setPending.run(pending, number);
    this.#changed.clear();
  }

  #include(segment: Segment): void {
    this.#byNumber.set(segment.number, segment);
    this.#index.add(segment);
    // A number is not used again while the store is open: a scan and the search for expired messages continue by number.
    this.#lastNumber = Math.max(this.#lastNumber, segment.number);
  }

  #readHashes(segment: number): Uint32Array {
    const bytes = this.#hashes.get(segment);
    if (bytes === undefined) return new Uint32Array();
    const hashes = withoutChecksum(bytes);
    if (!hashes) throw new DamageFound(segment);
    return hashes;
  }
}

/** Appends the CRC-32 to the hashes of a segment. With wrong hashes, a repeated message would be stored twice. */
function withChecksum(hashes: Uint32Array): Buffer {
  const bytes = Buffer.from(hashes.buffer);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(crc32(bytes));
  return Buffer.concat([bytes, checksum]);
}

/** Returns the hashes, or undefined if they were damaged. */
function withoutChecksum(bytes: Buffer): Uint32Array | undefined {
  if (!Buffer.isBuffer(bytes) || bytes.length < 4 || bytes.length % 4 !== 0) return undefined;
  const hashes = bytes.subarray(0, -4);
  if (bytes.readUInt32LE(hashes.length) !== crc32(hashes)) return undefined;
  return new Uint32Array(new Uint8Array(hashes).buffer);
}

/** Returns the checksum of a row. It does not cover `pending`, which changes, and which is compared with the ranges. */
function checksumOf({
  number,
  kind,
  messages,
  until,
  openUntil,
  fill,
  bytes,
  ids,
  tokenIds,
}: Omit<SegmentRow, 'pending' | 'checksum'>): number {
  return rowChecksum(number, kind, messages, until, openUntil, fill, bytes, ids, tokenIds);
}

function tokenIdsOf(messages: readonly LoggedMessage[]): string[] {
  const tokenIds = new Set<string>();
  for (const { shared } of messages) if (shared.tokenId !== undefined) tokenIds.add(shared.tokenId);
  return [...tokenIds];
}

function firstExpiry(messages: readonly LoggedMessage[]): number {
  return messages.reduce((first, { shared }) => Math.min(first, shared.expiresAt), Number.POSITIVE_INFINITY);
}

function lastEnding(messages: readonly LoggedMessage[]): number {
  return messages.reduce((last, { ending }) => Math.max(last, ending?.at ?? 0), 0);
}

function lastOpen(messages: readonly LoggedMessage[]): number {
  return messages.reduce((last, { shared }) => Math.max(last, shared.openUntil ?? 0), 0);
}
