import type { Database, Statement } from 'better-sqlite3';
import type { Amount } from '../../caps.ts';
import type { SharedFields } from '../../logged-message.ts';
import { rowChecksum } from '../row-checksum.ts';
import { DamageFound } from './damage-found.ts';

/** The pending amount of one sender in an inbox. Messages that don't count against their sender are counted separately. */
export interface PendingCount extends Amount {
  inbox: string;
  sender: string;
  isCounted: boolean;
}

type Row = Amount & { inbox: string; sender: string; isCounted: 0 | 1; checksum: number };

const columns = 'inbox, sender, is_counted AS isCounted, pending AS messages, bytes, checksum';

/** Counts the pending messages in segments, for each sender in each inbox. Counting the messages of a long inbox would take seconds. */
export class PendingCounts {
  readonly #of: Statement<[inbox: string], Amount>;
  readonly #bytesOfInboxes: Statement<[after: string, limit: number], { inbox: string; bytes: number }>;
  readonly #one: Statement<[inbox: string, sender: string, isCounted: 0 | 1], Row>;
  readonly #all: Statement<[], Row>;
  readonly #set: Statement<
    [inbox: string, sender: string, isCounted: 0 | 1, messages: number, bytes: number, checksum: number]
  >;
  readonly #forget: Statement<[inbox: string, sender: string, isCounted: 0 | 1]>;
  readonly #clear: Statement<[]>;
  /** The changes of this transaction, by inbox, sender and whether they count against the sender. */
  readonly #changes = new Map<string, PendingCount>();
  /** The change that was counted last: the next message of a segment is usually from the same sender to the same inbox. */
  #last: PendingCount | undefined;

  constructor(db: Database) {
    this.#of = db.prepare(
      `SELECT coalesce(sum(pending), 0) AS messages, coalesce(sum(bytes), 0) AS bytes
       FROM pending_count WHERE inbox = ?`,
    );
    this.#bytesOfInboxes = db.prepare(
      `SELECT inbox, sum(bytes) AS bytes FROM pending_count
       WHERE inbox > ? GROUP BY inbox ORDER BY inbox LIMIT ?`,
    );
    this.#one = db.prepare(
      `SELECT ${columns} FROM pending_count WHERE inbox = ? AND sender = ? AND is_counted = ?`,
    );
    this.#all = db.prepare(`SELECT ${columns} FROM pending_count`);
    this.#set = db.prepare('INSERT OR REPLACE INTO pending_count VALUES (?, ?, ?, ?, ?, ?)');
    this.#clear = db.prepare('DELETE FROM pending_count');
    this.#forget = db.prepare('DELETE FROM pending_count WHERE inbox = ? AND sender = ? AND is_counted = ?');
  }

  /** Returns the pending amount of an inbox. */
  of(inbox: string): Amount {
    this.save();
    return this.#of.get(inbox) ?? { messages: 0, bytes: 0 };
  }

  /** Returns the pending bytes of the inboxes after a name, in order. */
  bytesOfInboxes(after: string, limit: number): Map<string, number> {
    this.save();
    return new Map(this.#bytesOfInboxes.all(after, limit).map(({ inbox, bytes }) => [inbox, bytes]));
  }

  /** Counts the damaged rows. Call it between transactions. */
  countDamaged(): number {
    let damaged = 0;
    for (const row of this.#all.iterate()) if (!isSound(row)) damaged++;
    return damaged;
  }

  /** Yields all counts, including damaged ones: a repair counts again. Call it between transactions. */
  *all(): Iterable<PendingCount> {
    for (const { checksum: _, ...row } of this.#all.iterate())
      yield { ...row, isCounted: row.isCounted === 1 };
  }

  /** Counts a message that moved to a segment (`by` 1) or was removed from one (-1). */
  count(by: 1 | -1, { inbox, sender, isCounted }: SharedFields, size: number): void {
    let change = this.#last;
    if (change?.inbox !== inbox || change.sender !== sender || change.isCounted !== isCounted)
      change = this.#changeOf(inbox, sender, isCounted);
    change.messages += by;
    change.bytes += by * size;
  }

  /** Writes the changes. Call it as one of the last steps of a transaction. Throws {@link DamageFound}. */
  save(): void {
    for (const { inbox, sender, isCounted, messages, bytes } of this.#changes.values()) {
      if (messages === 0 && bytes === 0) continue;
      const flag = isCounted ? 1 : 0;
      const known = this.#one.get(inbox, sender, flag);
      if (known && !isSound(known)) throw new DamageFound();
      const row = {
        inbox,
        sender,
        isCounted: flag,
        messages: messages + (known?.messages ?? 0),
        bytes: bytes + (known?.bytes ?? 0),
      } as const;
      if (row.messages === 0) this.#forget.run(inbox, sender, flag);
      else this.#set.run(inbox, sender, flag, row.messages, row.bytes, checksumOf(row));
    }
    this.reset();
  }

  /** Forgets all counts. The caller then counts again. */
  clear(): void {
    this.reset();
    this.#clear.run();
  }

  /** Forgets the changes, after a rollback. */
  reset(): void {
    this.#changes.clear();
    this.#last = undefined;
  }

  #changeOf(inbox: string, sender: string, isCounted: boolean): PendingCount {
    const key = `${inbox} ${sender} ${isCounted}`;
    const known = this.#changes.get(key);
    const change = known ?? { inbox, sender, isCounted, messages: 0, bytes: 0 };
    if (!known) this.#changes.set(key, change);
    this.#last = change;
    return change;
  }
}

function checksumOf({ inbox, sender, isCounted, messages, bytes }: Omit<Row, 'checksum'>): number {
  return rowChecksum(inbox, sender, isCounted, messages, bytes);
}

function isSound(row: Row): boolean {
  return row.checksum === checksumOf(row);
}
