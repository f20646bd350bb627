import type { Database, Statement } from 'better-sqlite3';
import type { RequestKey, RequestState } from '../../inbox-store.ts';
import { rowChecksum } from '../row-checksum.ts';
import type { LoggedMessage } from './logged-message.ts';
import { MemtableEntry } from './memtable-entry.ts';
import type { MessageReader } from './message-reader.ts';

/** Rows of one requester. Of more, those that can be answered for the shortest time are forgotten. */
const maxRowsPerRequester = 10_000;

/** A request to which a reply came, and whether the reply can be stored. */
export interface FoundRequest {
  readonly seq: number;
  readonly inbox: string;
  readonly isOpen: boolean;
  readonly isPending: boolean;
  /** The message itself, unless it was forgotten and only a row tells of it. */
  readonly message: LoggedMessage | undefined;
}

interface Row {
  seq: number;
  requester: string;
  id: string;
  inbox: string;
  openUntil: number;
  isOver: number;
  checksum: number;
}

type Values = [
  seq: number,
  requester: string,
  id: string,
  inbox: string,
  openUntil: number,
  isOver: number,
  checksum: number,
];

/**
 * Tells whether requests can be answered. As long as a request is in the memtable or in a segment of pending messages, it says itself
 * whether it was answered. A table keeps what a segment of settled messages can't say: that a request in it was answered later, and,
 * when the segment is dropped, which of its requests can still be answered. Transactions are the caller's.
 */
export class OpenRequests {
  readonly #reader: MessageReader;
  readonly #now: () => number;
  readonly #bySeq: Statement<[seq: number], Row>;
  readonly #byId: Statement<[requester: string, id: string, inbox: string], Row>;
  readonly #all: Statement<[], Row>;
  readonly #set: Statement<Values>;
  readonly #keep: Statement<Values>;
  readonly #db: Database;
  readonly #dropOld: Statement<[now: number]>;
  readonly #tooMany: Statement<[limit: number], { requester: string; count: number }>;
  readonly #dropSoonest: Statement<[requester: string, count: number]>;
  readonly #maxPerRequester: number;
  /** Whether rows were added since they were last counted. */
  #isChanged = true;

  /** `now` returns the present in epoch milliseconds, by a clock that no leap moves before the broker believes it. */
  constructor(db: Database, reader: MessageReader, now: () => number, maxPerRequester = maxRowsPerRequester) {
    const row =
      'SELECT seq, requester, id, inbox, open_until AS openUntil, is_over AS isOver, checksum FROM open_request';
    const values = 'INTO open_request VALUES (?, ?, ?, ?, ?, ?, ?)';
    this.#db = db;
    this.#all = db.prepare(row);
    this.#reader = reader;
    this.#now = now;
    this.#maxPerRequester = maxPerRequester;
    this.#bySeq = db.prepare(`${row} WHERE seq = ?`);
    this.#byId = db.prepare(`${row} WHERE requester = ? AND id = ? AND inbox = ? ORDER BY seq DESC LIMIT 1`);
    this.#set = db.prepare(`INSERT OR REPLACE ${values}`);
    this.#keep = db.prepare(`INSERT OR IGNORE ${values}`);
    this.#dropOld = db.prepare('DELETE FROM open_request WHERE open_until <= ?');
    this.#tooMany = db.prepare(
      'SELECT requester, count(*) AS count FROM open_request GROUP BY requester HAVING count(*) > ?',
    );
    this.#dropSoonest = db.prepare(
      `DELETE FROM open_request WHERE seq IN
       (SELECT seq FROM open_request WHERE requester = ? ORDER BY open_until LIMIT ?)`,
    );
  }

  /**
   * Finds the request that a reply names. `settles` is the message that the reply settles, which mostly is that request. Among requests
   * of the same id in the replier's inboxes an open one comes first.
   */
  find(key: RequestKey, settles?: { inbox: string; seq: number } | undefined): FoundRequest | undefined {
    const held = settles && this.#reader.get(settles.inbox, settles.seq);
    if (held && held.id === key.id && held.shared.sender === key.requester && isRequest(held))
      return this.#found(held);
    const first = this.#at(key.replierAddress, key);
    if (first?.isOpen || key.replierAddress === key.replier) return first;
    const second = this.#at(key.replier, key);
    return second?.isOpen ? second : (first ?? second);
  }

  state(key: RequestKey): RequestState {
    const found = this.find(key);
    if (!found) return 'unknown';
    return found.isOpen ? 'open' : 'over';
  }

  /** Notes that a settled request was answered whose message can't be changed any more. */
  close({ requester, id }: RequestKey, { seq, inbox, message }: FoundRequest): void {
    const openUntil = message?.shared.openUntil ?? this.#bySeq.get(seq)?.openUntil ?? 0;
    this.#set.run(...valuesOf({ seq, requester, id, inbox, openUntil, isOver: 1 }));
    this.#isChanged = true;
  }

  /** How many rows are damaged. Call it between transactions. */
  countDamaged(): number {
    return this.#all.all().filter((row) => !isSound(row)).length;
  }

  /** Has requests of damaged rows count as answered, since a second reply must not be stored. Returns how many there were. */
  repair(): number {
    const damaged = this.#all.all().filter((row) => !isSound(row));
    // A key in an index may be another one than in the row.
    if (damaged.length > 0) this.#db.exec('REINDEX open_request');
    for (const row of damaged) this.#set.run(...valuesOf({ ...row, isOver: 1 }));
    return damaged.length;
  }

  /** Keeps those of settled messages that are requests and can still be answered, before their segment is dropped. */
  keep(messages: readonly LoggedMessage[], now: number): void {
    for (const message of messages) {
      const { sender, inbox, openUntil = 0 } = message.shared;
      if (openUntil <= now) continue;
      const { seq, id } = message;
      const isOver = hasEnd(message) ? 1 : 0;
      this.#keep.run(...valuesOf({ seq, requester: sender, id, inbox, openUntil, isOver }));
      this.#isChanged = true;
    }
  }

  /** Forgets requests whose time is over, and those that are too many of one requester. */
  tidy(now: number): void {
    this.#dropOld.run(now);
    if (!this.#isChanged) return;
    for (const { requester, count } of this.#tooMany.all(this.#maxPerRequester))
      this.#dropSoonest.run(requester, count - this.#maxPerRequester);
    this.#isChanged = false;
  }

  #at(inbox: string, { requester, id }: RequestKey): FoundRequest | undefined {
    const message = this.#reader.withId(id, inbox, requester);
    if (message) return isRequest(message) ? this.#found(message) : undefined;
    const row = this.#byId.get(requester, id, inbox);
    if (!row) return undefined;
    const isOpen = !isOver(row) && row.openUntil > this.#now();
    return { seq: row.seq, inbox, isOpen, isPending: false, message: undefined };
  }

  #found(message: LoggedMessage): FoundRequest {
    const { seq, shared, ending } = message;
    const isPending = ending === undefined;
    const isOpen = isPending ? !message.answered : this.#isSettledOpen(message);
    return { seq, inbox: shared.inbox, isOpen, isPending, message };
  }

  #isSettledOpen(message: LoggedMessage): boolean {
    if (hasEnd(message) || (message.shared.openUntil ?? 0) <= this.#now()) return false;
    if (message instanceof MemtableEntry) return true;
    const row = this.#bySeq.get(message.seq);
    return row === undefined || !isOver(row);
  }
}

function valuesOf({ seq, requester, id, inbox, openUntil, isOver }: Omit<Row, 'checksum'>): Values {
  const checksum = rowChecksum(seq, requester, id, inbox, openUntil, isOver);
  return [seq, requester, id, inbox, openUntil, isOver, checksum];
}

function isSound(row: Row): boolean {
  return row.checksum === valuesOf(row)[6];
}

/** Whether a row says that its request can't be answered, or can't be relied on. */
function isOver(row: Row): boolean {
  return row.isOver !== 0 || !isSound(row);
}

function isRequest({ shared }: LoggedMessage): boolean {
  return shared.openUntil !== undefined;
}

/** Whether the requester of a settled request has its reply, or was told that there will be none. */
function hasEnd({ answered, ending }: LoggedMessage): boolean {
  return answered || (ending !== undefined && ending.outcome !== 'acked');
}
