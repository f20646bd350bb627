import type { Database, Statement } from 'better-sqlite3';
import { rowChecksum } from '../row-checksum.ts';
import { DamageFound } from './damage-found.ts';

/** The messages of an inbox from `first` to `last`, which are all pending in one segment. */
export interface PendingRange {
  readonly inbox: string;
  readonly first: number;
  readonly last: number;
  readonly segment: number;
  /** The number of these messages. */
  readonly messages: number;
}

type Row = PendingRange & { checksum: number };

/** A range that was read, in its present state. */
interface KnownRange {
  range: PendingRange;
  /** True if the range's first number must be saved. */
  isChanged: boolean;
}

/** The most ranges in memory: one for each of a few consumers, and the one after it. */
const maxKnown = 8;
/** The most inboxes for which the end of their ranges is in memory. */
const maxEnds = 1000;

/**
 * The messages of segments that are pending, as ranges of sequence numbers of an inbox. Settling a message cuts it out of its range, so
 * that segments need not change. Ranges of one inbox never overlap. Transactions are the caller's.
 */
export class PendingRanges {
  /** The ranges that were read last, the oldest first: the next message to be cut out is usually the first of one of them. */
  readonly #known: KnownRange[] = [];
  /** Numbers, by inbox, after which no range ends. Most reads of an inbox find nothing in segments, and each query costs a lock. */
  readonly #ends = new Map<string, number>();
  /** The highest number at which a range ever ended; undefined until it was first needed. */
  #end: number | undefined;
  readonly #insert: Statement<[Row]>;
  readonly #delete: Statement<[inbox: string, last: number]>;
  readonly #setFirst: Statement<[Row]>;
  readonly #next: Statement<[inbox: string, afterSeq: number], Row>;
  readonly #all: Statement<[], Row>;
  readonly #removeOf: Statement<[segment: number]>;
  readonly #head: Statement<[inbox: string], number | null>;
  readonly #highest: Statement<[], number | null>;
  readonly #lowest: Statement<[], Row>;
  readonly #nextInbox: Statement<[after: string], string | null>;
  readonly #firstOfInboxes: Statement<
    [after: string, limit: number],
    { inbox: string; pending: number; oldestSeq: number }
  >;

  constructor(db: Database) {
    this.#insert = db.prepare(
      'INSERT INTO pending_range VALUES (@inbox, @last, @first, @segment, @messages, @checksum)',
    );
    this.#delete = db.prepare('DELETE FROM pending_range WHERE inbox = ? AND last = ?');
    this.#setFirst = db.prepare(
      `UPDATE pending_range SET first = @first, messages = @messages, checksum = @checksum
       WHERE inbox = @inbox AND last = @last`,
    );
    this.#next = db.prepare('SELECT * FROM pending_range WHERE inbox = ? AND last > ? ORDER BY last LIMIT 1');
    this.#all = db.prepare('SELECT * FROM pending_range');
    this.#removeOf = db.prepare('DELETE FROM pending_range WHERE segment = ?');
    this.#head = db
      .prepare<[string], number | null>('SELECT max(last) FROM pending_range WHERE inbox = ?')
      .pluck();
    this.#highest = db.prepare<[], number | null>('SELECT max(last) FROM pending_range').pluck();
    this.#lowest = db.prepare('SELECT * FROM pending_range ORDER BY first LIMIT 1');
    this.#firstOfInboxes = db.prepare(
      `SELECT inbox, sum(messages) AS pending, min(first) AS oldestSeq FROM pending_range
       WHERE inbox > ? GROUP BY inbox ORDER BY inbox LIMIT ?`,
    );
    this.#nextInbox = db
      .prepare<[string], string | null>('SELECT min(inbox) FROM pending_range WHERE inbox > ?')
      .pluck();
  }

  add(range: PendingRange): void {
    this.#insert.run(rowOf(range));
    if (this.#end !== undefined && range.last > this.#end) this.#end = range.last;
    const end = this.#ends.get(range.inbox);
    if (end !== undefined && end < range.last) this.#ends.set(range.inbox, range.last);
  }

  remove({ inbox, last }: PendingRange): void {
    this.#delete.run(inbox, last);
    const at = this.#known.findIndex(({ range }) => range.last === last && range.inbox === inbox);
    if (at >= 0) this.#known.splice(at, 1);
  }

  /**
   * Cuts a range in two: the messages up to `before.last`, and those from `behind.first` on. One or both may be empty. The messages between
   * them are in no range any more.
   */
  cut(
    range: PendingRange,
    before: { last: number; messages: number } | undefined,
    behind: { first: number; messages: number } | undefined,
  ): void {
    if (behind === undefined) this.remove(range);
    else this.#change({ ...range, ...behind });
    if (before !== undefined) this.add({ ...range, ...before });
  }

  /** Removes the ranges of a segment. */
  removeOf(segment: number): void {
    this.#removeOf.run(segment);
    this.forgetChanges();
  }

  /** Drops the damaged ranges. */
  dropDamaged(): void {
    for (const { inbox, last } of this.#all.all().filter((row) => !isSound(row)))
      this.#delete.run(inbox, last);
  }

  /** Returns all undamaged ranges, and the number of damaged ones. Call it between transactions. */
  check(): { ranges: PendingRange[]; damaged: number } {
    const ranges: PendingRange[] = [];
    let damaged = 0;
    let end = 0;
    for (const row of this.#all.iterate()) {
      if (isSound(row)) ranges.push(row);
      else damaged++;
      end = Math.max(end, row.last);
    }
    this.#end ??= end;
    return { ranges, damaged };
  }

  /** Returns the range that holds a sequence number. */
  holding(inbox: string, seq: number): PendingRange | undefined {
    const range = this.next(inbox, seq - 1);
    return range && range.first <= seq ? range : undefined;
  }

  /** Returns the first range of an inbox that ends after a sequence number. */
  next(inbox: string, afterSeq: number): PendingRange | undefined {
    for (const { range } of this.#known)
      if (afterSeq >= range.first - 1 && afterSeq < range.last && range.inbox === inbox) return range;
    const end = this.#ends.get(inbox);
    if (end !== undefined && afterSeq >= end) return undefined;
    this.save();
    const row = this.#next.get(inbox, afterSeq);
    if (!row) {
      this.#setEnd(inbox, afterSeq);
      return undefined;
    }
    if (!isSound(row)) throw new DamageFound();
    const known = this.#find(row);
    if (!known) this.#know({ range: row, isChanged: false });
    return known?.range ?? row;
  }

  /** Writes the changes. Call it as one of the last steps of a transaction. */
  save(): void {
    for (const known of this.#known) this.#saveOne(known);
  }

  /** Forgets what was read, after a rollback. */
  forgetChanges(): void {
    this.#known.length = 0;
    this.#ends.clear();
  }

  /** Returns the range with the lowest sequence number of all inboxes. It reads all ranges. */
  lowest(): PendingRange | undefined {
    this.save();
    const row = this.#lowest.get();
    if (row && !isSound(row)) throw new DamageFound();
    return row;
  }

  /** Returns the highest sequence number of an inbox, or 0 if it has none. */
  headSeq(inbox: string): number {
    return this.#head.get(inbox) ?? 0;
  }

  /** Returns the highest sequence number of all inboxes, or 0 if there is none. */
  highestSeq(): number {
    return this.#highest.get() ?? 0;
  }

  /** A sequence number after which no range of any inbox ends. It may be higher than {@link highestSeq}. */
  get end(): number {
    this.#end ??= this.highestSeq();
    return this.#end;
  }

  /** Returns the number of messages in the ranges of each inbox after a name, in order, and their lowest sequence number. */
  firstOfInboxes(after: string, limit: number): { inbox: string; pending: number; oldestSeq: number }[] {
    this.save();
    return this.#firstOfInboxes.all(after, limit);
  }

  /** Returns the names of inboxes with ranges after a name, in order. */
  inboxes(after: string, limit: number): string[] {
    const names: string[] = [];
    for (let name = this.#nextInbox.get(after); name != null && names.length < limit; ) {
      names.push(name);
      name = this.#nextInbox.get(name);
    }
    return names;
  }

  #saveOne(known: KnownRange): void {
    if (known.isChanged) this.#setFirst.run(rowOf(known.range));
    known.isChanged = false;
  }

  /** Notes that the first number of a range has changed. */
  #change(range: PendingRange): void {
    const known = this.#find(range);
    if (known) {
      known.range = range;
      known.isChanged = true;
    } else this.#know({ range, isChanged: true });
  }

  #find({ inbox, last }: PendingRange): KnownRange | undefined {
    return this.#known.find(({ range }) => range.last === last && range.inbox === inbox);
  }

  #know(known: KnownRange): void {
    this.#known.push(known);
    if (this.#known.length > maxKnown) this.#saveOne(this.#known.shift()!);
  }

  #setEnd(inbox: string, seq: number): void {
    if (this.#ends.size >= maxEnds) this.#ends.clear();
    this.#ends.set(inbox, seq);
  }
}

function rowOf({ inbox, last, first, segment, messages }: PendingRange): Row {
  const checksum = rowChecksum(inbox, last, first, segment, messages);
  return { inbox, last, first, segment, messages, checksum };
}

function isSound({ inbox, last, first, segment, messages, checksum }: Row): boolean {
  return checksum === rowChecksum(inbox, last, first, segment, messages);
}
