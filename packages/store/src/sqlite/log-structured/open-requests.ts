import type { Database, Statement } from 'better-sqlite3';
import type { RequestKey, RequestState } from '../../inbox-store.ts';
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
  inbox: string;
  openUntil: number;
  isOver: number;
}

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
  readonly #close: Statement<
    [seq: number, requester: string, id: string, inbox: string, openUntil: number, isOver: number]
  >;
  readonly #keep: Statement<
    [seq: number, requester: string, id: string, inbox: string, openUntil: number, isOver: number]
  >;
  readonly #dropOld: Statement<[now: number]>;
  readonly #tooMany: Statement<[limit: number], { requester: string; count: number }>;
  readonly #dropSoonest: Statement<[requester: string, count: number]>;
  readonly #maxPerRequester: number;
  /** Whether rows were added since they were last counted. */
  #isChanged = true;

  /** `now` returns the present in epoch milliseconds, by a clock that no leap moves before the broker believes it. */
  constructor(db: Database, reader: MessageReader, now: () => number, maxPerRequester = maxRowsPerRequester) {
    const row = 'SELECT seq, inbox, open_until AS openUntil, is_over AS isOver FROM open_request';
    const insert = 'INSERT INTO open_request VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (seq) DO';
    this.#reader = reader;
    this.#now = now;
    this.#maxPerRequester = maxPerRequester;
    this.#bySeq = db.prepare(`${row} WHERE seq = ?`);
    this.#byId = db.prepare(`${row} WHERE requester = ? AND id = ? AND inbox = ? ORDER BY seq DESC LIMIT 1`);
    this.#close = db.prepare(`${insert} UPDATE SET is_over = 1`);
    this.#keep = db.prepare(`${insert} NOTHING`);
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
    this.#close.run(seq, requester, id, inbox, message?.shared.openUntil ?? 0, 1);
    this.#isChanged = true;
  }

  /** Keeps those of settled messages that are requests and can still be answered, before their segment is dropped. */
  keep(messages: readonly LoggedMessage[], now: number): void {
    for (const message of messages) {
      const { sender, inbox, openUntil = 0 } = message.shared;
      if (openUntil <= now) continue;
      this.#keep.run(message.seq, sender, message.id, inbox, openUntil, hasEnd(message) ? 1 : 0);
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
    const isOpen = row.isOver === 0 && row.openUntil > this.#now();
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
    return message instanceof MemtableEntry || this.#bySeq.get(message.seq)?.isOver !== 1;
  }
}

function isRequest({ shared }: LoggedMessage): boolean {
  return shared.openUntil !== undefined;
}

/** Whether the requester of a settled request has its reply, or was told that there will be none. */
function hasEnd({ answered, ending }: LoggedMessage): boolean {
  return answered || (ending !== undefined && ending.outcome !== 'acked');
}
