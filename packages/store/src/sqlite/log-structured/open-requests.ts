import type { Database, Statement } from 'better-sqlite3';
import type { RequestKey, RequestState } from '../../inbox-store.ts';
import { type LoggedMessage, withTaker } from '../../logged-message.ts';
import {
  type ForgottenRequest,
  type FoundRequest,
  findRequest,
  hasEnd,
  type RequestSource,
} from '../../open-requests.ts';
import { rowChecksum } from '../row-checksum.ts';
import { MemtableEntry } from './memtable-entry.ts';
import type { MessageReader } from './message-reader.ts';

/** The most rows of one requester. Of more rows, those that can be answered for the shortest time are dropped. */
const maxRowsPerRequester = 10_000;

interface Row {
  seq: number;
  requester: string;
  id: string;
  inbox: string;
  openUntil: number;
  isOver: number;
  /** The agents that took it from the inbox of a group, separated by spaces. */
  takers: string;
  /** The thread of the request; empty if it equals the request's id. */
  thread: string;
  checksum: number;
}

type Values = [
  seq: number,
  requester: string,
  id: string,
  inbox: string,
  openUntil: number,
  isOver: number,
  takers: string,
  thread: string,
  checksum: number,
];

/**
 * Tells whether requests can be answered. While a request is in the memtable or in a segment of pending messages, the message itself holds
 * whether it was answered. A table holds the facts that a segment can't: a settled request that was answered later, and a pending one that
 * was taken from the inbox of a group later. When a segment of settled messages is dropped, the table also keeps those of its requests that
 * can still be answered. Transactions are the caller's.
 */
export class OpenRequests implements RequestSource {
  readonly #reader: MessageReader;
  readonly #now: () => number;
  readonly #bySeq: Statement<[seq: number], Row>;
  readonly #byId: Statement<[requester: string, id: string, inbox: string], Row>;
  readonly #all: Statement<[], Row>;
  readonly #set: Statement<Values>;
  readonly #db: Database;
  readonly #dropOld: Statement<[now: number]>;
  readonly #tooMany: Statement<[limit: number], { requester: string; count: number }>;
  readonly #dropSoonest: Statement<[requester: string, count: number]>;
  readonly #maxPerRequester: number;
  /** True if rows were added since the last count. */
  #isChanged = true;

  /** `now` returns the present in epoch milliseconds, by a clock that follows no leap before the broker trusts it. */
  constructor(db: Database, reader: MessageReader, now: () => number, maxPerRequester = maxRowsPerRequester) {
    const row =
      'SELECT seq, requester, id, inbox, open_until AS openUntil, is_over AS isOver, takers, thread, checksum FROM open_request';
    const values = 'INTO open_request VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)';
    this.#db = db;
    this.#all = db.prepare(row);
    this.#reader = reader;
    this.#now = now;
    this.#maxPerRequester = maxPerRequester;
    this.#bySeq = db.prepare(`${row} WHERE seq = ?`);
    this.#byId = db.prepare(`${row} WHERE requester = ? AND id = ? AND inbox = ? ORDER BY seq DESC LIMIT 1`);
    this.#set = db.prepare(`INSERT OR REPLACE ${values}`);
    this.#dropOld = db.prepare('DELETE FROM open_request WHERE open_until <= ?');
    this.#tooMany = db.prepare(
      'SELECT requester, count(*) AS count FROM open_request GROUP BY requester HAVING count(*) > ?',
    );
    this.#dropSoonest = db.prepare(
      `DELETE FROM open_request WHERE seq IN
       (SELECT seq FROM open_request WHERE requester = ? ORDER BY open_until LIMIT ?)`,
    );
  }

  /** Finds the request that a reply names; see {@link findRequest}. */
  find(key: RequestKey, settles?: { inbox: string; seq: number } | undefined): FoundRequest | undefined {
    return findRequest(this, key, settles, this.#now);
  }

  get(inbox: string, seq: number): LoggedMessage | undefined {
    return this.#reader.get(inbox, seq);
  }

  withId(id: string, inbox: string, sender: string): LoggedMessage | undefined {
    return this.#reader.withId(id, inbox, sender);
  }

  forgotten(requester: string, id: string, inbox: string): ForgottenRequest | undefined {
    const row = this.#byId.get(requester, id, inbox);
    return row && forgottenOf(row);
  }

  /** Returns the agents that have taken a message. A row holds those that took it from a segment. */
  takersOf({ seq, takers = [] }: LoggedMessage): readonly string[] {
    return takersIn(this.#bySeq.get(seq)).reduce(withTaker, takers);
  }

  /** Tells whether a later answer to a message has a row. An entry of the memtable itself holds whether it was answered. */
  wasAnsweredLater(message: LoggedMessage): boolean {
    if (message instanceof MemtableEntry) return false;
    const row = this.#bySeq.get(message.seq);
    return row !== undefined && isOver(row);
  }

  state(key: RequestKey): RequestState {
    const found = this.find(key);
    if (!found) return 'unknown';
    return found.isOpen ? 'open' : 'over';
  }

  /** Notes that a settled request was answered whose message can't be changed any more. */
  close({ requester, id }: RequestKey, { seq, inbox, message }: FoundRequest): void {
    const openUntil = message?.shared.openUntil ?? this.#bySeq.get(seq)?.openUntil ?? 0;
    const takers = message ? this.takersOf(message) : takersIn(this.#bySeq.get(seq));
    const thread = message ? (message.thread ?? '') : (this.#bySeq.get(seq)?.thread ?? '');
    const row = { seq, requester, id, inbox, openUntil, isOver: 1, thread };
    this.#set.run(...valuesOf({ ...row, takers: takers.join(' ') }));
    this.#isChanged = true;
  }

  /** Notes that an agent has taken a pending request, which is in a segment, from the inbox of a group. */
  setTaken(message: LoggedMessage, agent: string): void {
    const { sender, inbox, openUntil } = message.shared;
    const takers = this.takersOf(message);
    if (openUntil === undefined || takers.includes(agent)) return;
    const { seq, id, thread = '' } = message;
    const row = { seq, requester: sender, id, inbox, openUntil, isOver: message.answered ? 1 : 0, thread };
    this.#set.run(...valuesOf({ ...row, takers: withTaker(takers, agent).join(' ') }));
    this.#isChanged = true;
  }

  /** Returns the requests of all rows; each message has one row. */
  all(): (ForgottenRequest & { requester: string; id: string; inbox: string })[] {
    return this.#all.all().map((row) => {
      const { requester, id, inbox } = row;
      return { requester, id, inbox, ...forgottenOf(row) };
    });
  }

  /** Counts the damaged rows. Call it between transactions. */
  countDamaged(): number {
    return this.#all.all().filter((row) => !isSound(row)).length;
  }

  /** Marks the requests of damaged rows as answered, since a second reply must not be stored. Returns their number. */
  repair(): number {
    const damaged = this.#all.all().filter((row) => !isSound(row));
    // A key in an index may differ from that of its row.
    if (damaged.length > 0) this.#db.exec('REINDEX open_request');
    for (const row of damaged) this.#set.run(...valuesOf({ ...row, isOver: 1 }));
    return damaged.length;
  }

  /** Keeps the settled requests that can still be answered, before their segment is dropped. */
  keep(messages: readonly LoggedMessage[], now: number): void {
    for (const message of messages) {
      const { sender, inbox, openUntil = 0 } = message.shared;
      if (openUntil <= now) continue;
      const { seq, id, thread = '' } = message;
      const known = this.#bySeq.get(seq);
      const isEnded = hasEnd(message) || (known !== undefined && isOver(known)) ? 1 : 0;
      const row = { seq, requester: sender, id, inbox, openUntil, isOver: isEnded, thread };
      this.#set.run(...valuesOf({ ...row, takers: this.takersOf(message).join(' ') }));
      this.#isChanged = true;
    }
  }

  /** Forgets requests whose time is over, and those beyond the most of one requester. */
  tidy(now: number): void {
    this.#dropOld.run(now);
    if (!this.#isChanged) return;
    for (const { requester, count } of this.#tooMany.all(this.#maxPerRequester))
      this.#dropSoonest.run(requester, count - this.#maxPerRequester);
    this.#isChanged = false;
  }
}

function forgottenOf(row: Row): ForgottenRequest {
  const { seq, openUntil } = row;
  const thread = row.thread === '' ? undefined : row.thread;
  return { seq, isOver: isOver(row), openUntil, takers: takersIn(row), thread };
}

function valuesOf(row: Omit<Row, 'checksum'>): Values {
  const { seq, requester, id, inbox, openUntil, isOver, takers, thread } = row;
  const checksum = rowChecksum(seq, requester, id, inbox, openUntil, isOver, takers, thread);
  return [seq, requester, id, inbox, openUntil, isOver, takers, thread, checksum];
}

function isSound(row: Row): boolean {
  return row.checksum === valuesOf(row).at(-1);
}

/** Tells whether the request of a row can't be answered, or the row is damaged. */
function isOver(row: Row): boolean {
  return row.isOver !== 0 || !isSound(row);
}

function takersIn(row: Row | undefined): readonly string[] {
  return row === undefined || row.takers === '' ? [] : row.takers.split(' ');
}
