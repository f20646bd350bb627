import { isDeepStrictEqual } from 'node:util';
import type { Database, Statement } from 'better-sqlite3';
import { agentOf } from '../../agent-of.ts';
import type { Amount } from '../../caps.ts';
import type { Damage } from '../../damage.ts';
import { hasLostBody, type LoggedMessage, repeatOf } from '../../logged-message.ts';
import type { NewMessage, Release } from '../../message.ts';
import type { ScheduledMessage, ScheduledPage, ScheduledQuery } from '../../scheduled-messages.ts';
import {
  cursorOf,
  placeOf,
  releaseOf,
  type ScheduledPlace,
  scheduledLogged,
  scheduledMessageOf,
  type Taken,
} from '../../scheduled-rules.ts';
import type { AgentUsage } from '../log-structured/agent-usage.ts';
import {
  decodeMessages,
  type EncodedRecord,
  encodeMessages,
  RecordEncoder,
} from '../log-structured/record-codec.ts';
import { rowChecksum } from '../row-checksum.ts';

/** The most rows that are examined for one page of a list. */
const rowsPerPage = 2000;
/** The number of ids, and the part of them without messages, from which housekeeping looks for ids whose messages have left. */
const tidyFrom = { ids: 1000, part: 0.25 };
/** The most ids that one step of housekeeping examines. */
const idsPerStep = 5000;

const none: Readonly<Amount> = { messages: 0, bytes: 0 };

export interface ScheduledTableDeps {
  /** Counts the scheduled messages that are kept, from the start on. */
  usage: AgentUsage;
  onDamage: (damage: Damage) => void;
}

/** The facts of a message that its row holds beside the record. */
interface Facts extends ScheduledPlace {
  inbox: string;
  sender: string;
  isCounted: 0 | 1;
  size: number;
}

/** The facts of all rows of one sender in one inbox, with their total amount. */
interface Sum extends Pick<Facts, 'inbox' | 'sender' | 'isCounted'>, Amount {}

interface Row extends EncodedRecord, Facts {
  sentAt: number;
  checksum: number;
}

interface IdRow extends ScheduledPlace {
  sender: string;
  inbox: string;
  id: string;
  checksum: number;
}

interface Page extends ScheduledPlace {
  limit: number;
}

interface Scheduled extends Amount {
  /** The number of messages of each sender. */
  readonly senders: Map<string, number>;
}

/**
 * The messages that are not due, one row each in the order of their times, with a record of the whole message. Another table holds the
 * place of each id. An id is forgotten some time after its message has left: ids lie in another order, so forgetting each at once would
 * write a page for each message. The number of messages of each sender in each inbox is in memory, so that a message to an inbox without
 * scheduled ones of its sender needs no read of the tables.
 */
export class ScheduledTable {
  readonly #insert: Statement<(string | number | Buffer)[]>;
  readonly #insertId: Statement<(string | number)[]>;
  readonly #sums: Statement<[], Sum>;
  readonly #first: Statement<[], number | null>;
  readonly #due: Statement<[at: number, limit: number], Row>;
  readonly #row: Statement<[due: number, number: number], Row>;
  readonly #drop: Statement<[due: number, number: number]>;
  readonly #place: Statement<[sender: string, inbox: string, id: string], ScheduledPlace>;
  readonly #placesOfId: Statement<[sender: string, id: string], ScheduledPlace>;
  readonly #page: Statement<Page, Row>;
  readonly #pageOfSender: Statement<Page & { sender: string }, Row>;
  readonly #places: Statement<[], ScheduledPlace>;
  readonly #ids: Statement<[sender: string, inbox: string, id: string, limit: number], IdRow>;
  readonly #countIds: Statement<[], number>;
  readonly #forget: Statement<[sender: string, inbox: string, id: string]>;
  readonly #usage: AgentUsage;
  readonly #onDamage: (damage: Damage) => void;
  readonly #encoder = new RecordEncoder();
  readonly #inboxes = new Map<string, Scheduled>();
  /** The number of messages of each sender. */
  readonly #senders = new Map<string, number>();
  /** The number of all scheduled messages. It is a plain field because it is read for each message. */
  count = 0;
  /** The number of ids, including those whose messages have left. */
  #idCount = 0;
  /** The id at which housekeeping continues; `undefined` while it has nothing to do. */
  #tidyAfter: Pick<IdRow, 'sender' | 'inbox' | 'id'> | undefined;

  constructor(db: Database, { usage, onDamage }: ScheduledTableDeps) {
    const facts = 'due, number, inbox, sender, is_counted AS isCounted, size, checksum, sent_at AS sentAt';
    const columns = (alias: string): string =>
      `${facts.replace(/(^|, )/g, `$1${alias}.`)}, ${alias}.entries, x'' AS bodies`;
    this.#usage = usage;
    this.#onDamage = onDamage;
    this.#insert = db.prepare('INSERT INTO scheduled VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
    this.#insertId = db.prepare('INSERT OR REPLACE INTO scheduled_id VALUES (?, ?, ?, ?, ?, ?)');
    this.#sums = db.prepare(
      `SELECT inbox, sender, is_counted AS isCounted, COUNT(*) AS messages, SUM(size) AS bytes
       FROM scheduled GROUP BY inbox, sender, is_counted`,
    );
    this.#first = db.prepare<[], number | null>('SELECT MIN(due) FROM scheduled').pluck();
    this.#due = db.prepare(
      `SELECT ${facts}, entries, bodies FROM scheduled WHERE due <= ? ORDER BY due, number LIMIT ?`,
    );
    this.#row = db.prepare(`SELECT ${facts}, entries, bodies FROM scheduled WHERE due = ? AND number = ?`);
    this.#drop = db.prepare('DELETE FROM scheduled WHERE due = ? AND number = ?');
    this.#place = db.prepare(
      'SELECT due, number FROM scheduled_id WHERE sender = ? AND inbox = ? AND id = ?',
    );
    this.#placesOfId = db.prepare('SELECT due, number FROM scheduled_id WHERE sender = ? AND id = ?');
    this.#page = db.prepare(
      `SELECT ${columns('s')} FROM scheduled s
       WHERE (s.due, s.number) > (@due, @number) ORDER BY s.due, s.number LIMIT @limit`,
    );
    this.#pageOfSender = db.prepare(
      `SELECT ${columns('s')} FROM scheduled_id i CROSS JOIN scheduled s ON s.due = i.due AND s.number = i.number
       WHERE i.sender = @sender AND (i.due, i.number) > (@due, @number) ORDER BY s.due, s.number LIMIT @limit`,
    );
    this.#places = db.prepare('SELECT due, number FROM scheduled ORDER BY due, number');
    this.#ids = db.prepare(
      `SELECT sender, inbox, id, due, number, checksum FROM scheduled_id
       WHERE (sender, inbox, id) > (?, ?, ?) ORDER BY sender, inbox, id LIMIT ?`,
    );
    this.#countIds = db.prepare<[], number>('SELECT COUNT(*) FROM scheduled_id').pluck();
    this.#forget = db.prepare('DELETE FROM scheduled_id WHERE sender = ? AND inbox = ? AND id = ?');
    this.reload();
  }

  /** Counts the rows, at the start, and after a rollback when the usage was cleared. */
  reload(): void {
    this.#inboxes.clear();
    this.#senders.clear();
    this.count = 0;
    this.#idCount = this.#countIds.get() ?? 0;
    for (const { messages, bytes, isCounted, ...facts } of this.#sums.iterate())
      this.#add({ ...facts, isCounted: isCounted === 1 }, messages, bytes);
  }

  /** Returns the amount that is scheduled for an inbox. */
  amount(inbox: string): Readonly<Amount> {
    return this.#inboxes.get(inbox) ?? none;
  }

  /** Adds a message under a number that no other message ever has. */
  add(number: number, message: NewMessage, size: number, isCounted: boolean): void {
    const { inbox, sender, id, createdAt: due, scheduledAt: sentAt = due } = message;
    const logged = scheduledLogged(number, message, size, isCounted);
    const { entries, bodies } = encodeMessages([logged], number, this.#encoder);
    const counted = isCounted ? 1 : 0;
    const checksum = rowChecksum(due, number, sentAt);
    this.#insert.run(due, number, sentAt, inbox, sender, counted, size, checksum, entries, bodies);
    this.#insertId.run(sender, inbox, id, due, number, rowChecksum(sender, inbox, id, due, number));
    this.#idCount++;
    this.#add({ inbox, sender, isCounted }, 1, size);
  }

  /** Tells whether a message has the id of a scheduled one of its sender, and whether it is the same message. */
  repeatOf(inbox: string, message: NewMessage): 'duplicate' | 'id_conflict' | undefined {
    const { sender, id } = message;
    if (this.count === 0 || !this.#inboxes.get(inbox)?.senders.has(sender)) return undefined;
    const row = this.#find(sender, inbox, id);
    if (!row) return undefined;
    const known = messageOf(row);
    return known ? repeatOf(known, message) : 'duplicate';
  }

  /** Returns the first time at which a message is due. */
  nextDueAt(): number | undefined {
    return this.count === 0 ? undefined : (this.#first.get() ?? undefined);
  }

  /** Returns messages that are due, and the places of those that can't be read. */
  due(at: number, limit: number, maxBytes: number): { due: NewMessage[]; unreadable: ScheduledPlace[] } {
    const due: NewMessage[] = [];
    const unreadable: ScheduledPlace[] = [];
    let bytes = 0;
    for (const row of this.#due.iterate(at, limit)) {
      bytes += row.size;
      if (bytes > maxBytes && due.length > 0) break;
      const message = messageOf(row);
      if (message) due.push(releaseOf(message));
      else unreadable.push(row);
    }
    return { due, unreadable };
  }

  /** Removes a message that is released. Returns false if it is not there any more. */
  drop({ inbox, sender, createdAt: due }: NewMessage, { number, size, isCounted }: Release): boolean {
    if (this.#drop.run(due, number).changes === 0) return false;
    this.#add({ inbox, sender, isCounted }, -1, -size);
    return true;
  }

  /** Removes a message, and reports it if it can't be read. Returns `undefined` if it could not be read or is not there any more. */
  take({ due, number }: ScheduledPlace): Taken | undefined {
    const row = this.#row.get(due, number);
    if (!row) return undefined;
    this.#drop.run(due, number);
    this.#add({ ...row, isCounted: row.isCounted === 1 }, -1, -row.size);
    const message = messageOf(row);
    if (message) return { message, sentAt: row.sentAt };
    const detail = `a scheduled message from '${row.sender}' to '${row.inbox}' (${number}) could not be read and is lost`;
    this.#onDamage({ what: 'message', detail });
    return undefined;
  }

  /** Returns the places of a sender's messages with an id: of the one to an inbox, or of the copies for the members of a group. */
  placesOf(inbox: string, sender: string, id: string): ScheduledPlace[] {
    if (this.count === 0) return [];
    const one = this.#find(sender, inbox, id);
    if (one) return [one];
    return this.#placesOfId.all(sender, id).filter(({ due, number }) => {
      const row = this.#row.get(due, number);
      return row !== undefined && messageOf(row)?.group?.copyOf === inbox;
    });
  }

  list({ sender, inbox, limit, cursor }: ScheduledQuery): ScheduledPage {
    const page = { ...placeOf(cursor), limit: rowsPerPage };
    // The rows of a sender have to be sorted. If they are many, sorting them for each page would keep everyone else waiting.
    const isFew = sender !== undefined && (this.#senders.get(sender) ?? 0) <= rowsPerPage;
    const rows = isFew ? this.#pageOfSender.iterate({ ...page, sender }) : this.#page.iterate(page);
    const messages: ScheduledMessage[] = [];
    let last: Row | undefined;
    let looked = 0;
    let isFull = false;
    for (const row of rows) {
      isFull = messages.length === limit;
      if (isFull) break;
      last = row;
      looked++;
      if (inbox !== undefined && row.inbox !== inbox) continue;
      if (sender !== undefined && row.sender !== sender) continue;
      const message = messageOf(row);
      if (message) messages.push(scheduledMessageOf(message, row.sentAt));
    }
    const isAll = !isFull && looked < rowsPerPage;
    return { messages, ...(!isAll && last && { cursor: cursorOf(last) }) };
  }

  /** Does one small step of housekeeping: forgets some ids whose messages have left, if there are many. */
  tidy(): void {
    const gone = this.#idCount - this.count;
    const isWorth = gone >= tidyFrom.ids && gone >= this.#idCount * tidyFrom.part;
    if (!isWorth && !(this.count === 0 && gone > 0) && this.#tidyAfter === undefined) return;
    const { sender, inbox, id } = this.#tidyAfter ?? { sender: '', inbox: '', id: '' };
    const rows = this.#ids.all(sender, inbox, id, idsPerStep);
    for (const row of rows) {
      if (this.#row.get(row.due, row.number)) continue;
      this.#forget.run(row.sender, row.inbox, row.id);
      this.#idCount--;
    }
    this.#tidyAfter = rows.length < idsPerStep ? undefined : rows.at(-1);
  }

  /** Yields all readable messages, the first due one first. */
  *all(): Iterable<Taken> {
    for (const { due, number } of this.#places.all()) {
      const row = this.#row.get(due, number);
      const message = row && messageOf(row);
      if (message) yield { message, sentAt: row.sentAt };
    }
  }

  /** Reads every row. Yields for each message its problem, or `undefined` if it has none. */
  *verify(): Iterable<string | undefined> {
    for (const { due, number } of this.#places.all()) {
      const row = this.#row.get(due, number);
      const message = row && messageOf(row);
      if (!message) yield `the scheduled message ${number} can't be read`;
      else if (hasLostBody(message)) yield `the scheduled message ${number} has lost its body`;
      else if (!isTrue(row, message) || this.#find(row.sender, row.inbox, message.id)?.number !== number)
        yield `the row of the scheduled message ${number} says something else than its message`;
      else yield undefined;
    }
    yield* this.#verifyIds();
  }

  *#verifyIds(): Iterable<string> {
    let after = { sender: '', inbox: '', id: '' };
    for (;;) {
      const rows = this.#ids.all(after.sender, after.inbox, after.id, idsPerStep);
      for (const { sender, inbox, id, due, number, checksum } of rows)
        if (checksum !== rowChecksum(sender, inbox, id, due, number))
          yield `the id of the scheduled message ${number} is damaged`;
      const last = rows.at(-1);
      if (!last || rows.length < idsPerStep) return;
      after = last;
    }
  }

  #find(sender: string, inbox: string, id: string): Row | undefined {
    const place = this.#place.get(sender, inbox, id);
    return place && this.#row.get(place.due, place.number);
  }

  #add(
    { inbox, sender, isCounted }: { inbox: string; sender: string; isCounted: boolean },
    messages: number,
    bytes: number,
  ): void {
    const known = this.#inboxes.get(inbox) ?? { messages: 0, bytes: 0, senders: new Map<string, number>() };
    known.messages += messages;
    known.bytes += bytes;
    const ofSender = (known.senders.get(sender) ?? 0) + messages;
    if (ofSender > 0) known.senders.set(sender, ofSender);
    else known.senders.delete(sender);
    if (known.messages > 0) this.#inboxes.set(inbox, known);
    else this.#inboxes.delete(inbox);
    const ofAll = (this.#senders.get(sender) ?? 0) + messages;
    if (ofAll > 0) this.#senders.set(sender, ofAll);
    else this.#senders.delete(sender);
    this.count += messages;
    this.#usage.countScheduled(agentOf(inbox), { sender, isCounted }, messages, bytes);
  }
}

function messageOf(row: Row): LoggedMessage | undefined {
  return decodeMessages(row, row.number).messages[0];
}

/** Tells whether a row matches the record of its message. */
function isTrue(
  { entries: _, bodies: __, sentAt, checksum, ...facts }: Row,
  message: LoggedMessage,
): boolean {
  const { seq: number, shared, size } = message;
  const { createdAt: due, inbox, sender, isCounted } = shared;
  const told: Facts = { due, number, inbox, sender, isCounted: isCounted ? 1 : 0, size };
  return isDeepStrictEqual(facts, told) && checksum === rowChecksum(due, number, sentAt);
}
