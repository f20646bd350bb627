import type { Database, Statement } from 'better-sqlite3';
import { agentOf } from '../../agent-of.ts';
import {
  type KeepBodies,
  type KeptBody,
  type KeptThread,
  type KeptThreadsPage,
  maxCounted,
  type ThreadsQuery,
} from '../../kept-bodies.ts';
import { keptBodiesOf, keptOverheadBytes, searchedText, searchedWords } from '../../kept-rules.ts';
import type { LoggedMessage } from '../../logged-message.ts';
import type { CommitLog } from '../log-structured/commit-log.ts';
import { decodeRecord } from '../log-structured/record-codec.ts';
import { rowChecksum } from '../row-checksum.ts';
import { keptWordsSchema } from './inbox-schema.ts';
import type { MetaTable } from './meta-table.ts';

/** The most messages, and the most bytes of their bodies, that one step takes from the log: about two milliseconds of work. */
const messagesPerStep = 100;
const bytesPerStep = 256 * 1024;
/** The most bodies that one step forgets. */
const forgottenPerStep = 200;
/** The most messages that a page of threads looks at. Then the page ends, although it may have room. */
const readPerPage = 5000;

interface Row {
  seq: number;
  thread: string;
  sender: string;
  createdAt: number;
  size: number;
  inbox: string;
  kind: string;
  id: string;
  correlationId: string | null;
  checksum: number;
  body: string;
}

const columns =
  'seq, thread, sender, created_at AS createdAt, size, inbox, kind, id, correlation_id AS correlationId, checksum, body';

/**
 * The bodies that are kept. A commit writes a body only once, into its record in the commit log. Records with bodies to keep stay there after
 * compaction, until {@link step} has taken the bodies out. Transactions are the caller's, and must be synced before `tookKept` can be undone.
 */
export class KeptBodyTable {
  readonly #meta: MetaTable;
  readonly #log: CommitLog;
  readonly #keeps: KeepBodies;
  readonly #kinds: ReadonlySet<string>;
  readonly #insert: Statement<[Row & { recipient: string }]>;
  readonly #insertWords: Statement<[seq: number, words: string]>;
  readonly #oldest: Statement<[limit: number], { seq: number; createdAt: number; size: number }>;
  readonly #delete: Statement<[seq: number]>;
  readonly #deleteWords: Statement<[seq: number]>;
  readonly #ofThread: Statement<[thread: string, afterSeq: number, limit: number], Row>;
  readonly #seqsOfThread: Statement<[thread: string, limit: number], { seq: number; size: number }>;
  readonly #facts: Statement<[thread: string], { messages: number; since: number }>;
  readonly #one: Statement<[seq: number], Row>;
  readonly #head: Statement<[seq: number], Head>;
  readonly #newerOfThread: Statement<[thread: string, from: number], Head>;
  readonly #all: Statement<[before: number], number>;
  readonly #ofAgent: Statement<[{ agent: string; before: number }], number>;
  readonly #matching: Statement<[match: string, before: number], number>;
  readonly #matches: Statement<[match: string, seq: number], number>;
  readonly #bytesOf: Statement<[], number>;
  readonly #rows: Statement<[], Row>;
  readonly #unworded: Statement<[after: number, limit: number], { seq: number; size: number; body: string }>;
  readonly #db: Database;
  /** The bytes of everything that is kept in the table. */
  #bytes = 0;

  constructor(db: Database, meta: MetaTable, log: CommitLog, keeps: KeepBodies = nothing) {
    this.#meta = meta;
    this.#log = log;
    this.#keeps = keeps;
    this.#kinds = new Set(keeps.kinds);
    this.#insert = db.prepare(
      `INSERT INTO kept_body VALUES
       (@seq, @thread, @sender, @recipient, @createdAt, @size, @inbox, @kind, @id, @correlationId, @checksum, @body)`,
    );
    this.#insertWords = db.prepare('INSERT INTO kept_words (rowid, words) VALUES (?, ?)');
    this.#oldest = db.prepare(
      'SELECT seq, created_at AS createdAt, size FROM kept_body ORDER BY seq LIMIT ?',
    );
    this.#delete = db.prepare('DELETE FROM kept_body WHERE seq = ?');
    this.#deleteWords = db.prepare('DELETE FROM kept_words WHERE rowid = ?');
    this.#ofThread = db.prepare(
      `SELECT ${columns} FROM kept_body WHERE thread = ? AND seq > ? ORDER BY seq LIMIT ?`,
    );
    this.#seqsOfThread = db.prepare('SELECT seq, size FROM kept_body WHERE thread = ? LIMIT ?');
    this.#facts = db.prepare(
      `SELECT count(*) AS messages, min(created_at) AS since
       FROM (SELECT created_at FROM kept_body WHERE thread = ? ORDER BY seq LIMIT ${maxCounted})`,
    );
    this.#one = db.prepare(`SELECT ${columns} FROM kept_body WHERE seq = ?`);
    this.#head = db.prepare('SELECT seq, thread, sender, recipient FROM kept_body WHERE seq = ?');
    this.#newerOfThread = db.prepare(
      `SELECT seq, thread, sender, recipient FROM kept_body WHERE thread = ? AND seq >= ? LIMIT ${maxCounted}`,
    );
    this.#all = db
      .prepare<[number], number>('SELECT seq FROM kept_body WHERE seq < ? ORDER BY seq DESC')
      .pluck();
    this.#ofAgent = db
      .prepare<[{ agent: string; before: number }], number>(
        `SELECT seq FROM kept_body WHERE sender = @agent AND seq < @before
         UNION SELECT seq FROM kept_body WHERE recipient = @agent AND seq < @before ORDER BY seq DESC`,
      )
      .pluck();
    this.#matching = db
      .prepare<[string, number], number>(
        'SELECT rowid FROM kept_words WHERE words MATCH ? AND rowid < ? ORDER BY rowid DESC',
      )
      .pluck();
    this.#matches = db
      .prepare<[string, number], number>('SELECT 1 FROM kept_words WHERE words MATCH ? AND rowid = ?')
      .pluck();
    this.#bytesOf = db
      .prepare<[], number>(`SELECT coalesce(sum(size + ${keptOverheadBytes}), 0) FROM kept_body`)
      .pluck();
    this.#rows = db.prepare(`SELECT ${columns} FROM kept_body ORDER BY seq`);
    this.#unworded = db.prepare('SELECT seq, size, body FROM kept_body WHERE seq > ? ORDER BY seq LIMIT ?');
    this.#db = db;
    this.reload();
  }

  /** Reads again what is in memory, after a rollback. */
  reload(): void {
    this.#bytes =
      (this.#meta.isDamaged('kept_bytes') ? undefined : this.#meta.number('kept_bytes')) ??
      this.#bytesOf.get() ??
      0;
  }

  /** Returns all bodies: those in the table that are undamaged, and those that the log still holds. */
  *all(): Iterable<KeptBody> {
    for (const row of this.#rows.iterate()) if (isSound(row)) yield keptBodyOf(row);
    yield* keptBodiesOf(this.#logged(), this.#kinds, this.#meta.number('seq_kept') ?? 0);
  }

  /** Returns the sequence numbers of damaged rows. */
  *damaged(): Iterable<number> {
    for (const row of this.#rows.iterate()) if (!isSound(row)) yield row.seq;
  }

  /** Takes some bodies from the log, and skips the oldest if there are too many. Returns true if there are more up to the commit `upTo`. */
  step(upTo: number): boolean {
    const surplus = this.#log.keptBytes - this.#keeps.bytes;
    const found: LoggedMessage[] = [];
    let [skipped, bytes, last] = [0, 0, 0];
    let isMore = false;
    for (const { number, kept, ...record } of this.#log.toKeep()) {
      if (number > upTo) break;
      if (found.length >= messagesPerStep || (bytes > 0 && bytes + kept > bytesPerStep)) {
        isMore = true;
        break;
      }
      if (skipped + kept <= surplus) skipped += kept;
      else {
        decodeRecord(record, number, { ...noOperations, put: (message) => found.push(message) });
        bytes += kept;
      }
      last = number;
    }
    if (last === 0) return false;
    this.#take(found);
    this.#log.tookKept(last, skipped + bytes);
    return isMore;
  }

  /** Tells whether words of bodies are not in the index. */
  get lacksWords(): boolean {
    return this.#worded < (this.#meta.number('seq_kept') ?? 0);
  }

  /** Adds the words of some bodies to the index. */
  indexWords(): void {
    // A damaged number would lead to words that are there already.
    if (this.#meta.isDamaged('seq_worded')) this.forgetWords();
    let [bytes, last] = [0, 0];
    for (const { seq, size, body } of this.#unworded.all(this.#worded, messagesPerStep)) {
      if (bytes > 0 && bytes + size > bytesPerStep) break;
      this.#insertWords.run(seq, searchedText(body));
      bytes += size;
      last = seq;
    }
    this.#meta.set('seq_worded', last === 0 ? (this.#meta.number('seq_kept') ?? 0) : last);
  }

  /** Forgets all words, which {@link indexWords} adds again: their index is damaged. */
  forgetWords(): void {
    this.#db.exec(`DROP TABLE kept_words; ${keptWordsSchema}`);
    this.#meta.set('seq_worded', 0);
  }

  /** Tells whether a body is too old, or the oldest one too much. */
  hasOld(now: number): boolean {
    const oldest = this.#oldest.get(1);
    return oldest !== undefined && this.#isOld(oldest.createdAt, now);
  }

  /** Forgets some bodies that are too old or too many. Returns true if there are more. */
  forgetOld(now: number): boolean {
    for (const { seq, createdAt, size } of this.#oldest.all(forgottenPerStep)) {
      if (!this.#isOld(createdAt, now)) break;
      this.#forgetOne(seq, size);
    }
    this.#meta.set('kept_bytes', this.#bytes);
    return this.hasOld(now);
  }

  /** Forgets some bodies of a thread. Returns their number. */
  forget(thread: string): number {
    const rows = this.#seqsOfThread.all(thread, forgottenPerStep);
    for (const { seq, size } of rows) this.#forgetOne(seq, size);
    this.#meta.set('kept_bytes', this.#bytes);
    return rows.length;
  }

  thread(thread: string, afterSeq: number, limit: number, maxBytes: number): KeptBody[] {
    const bodies: KeptBody[] = [];
    let bytes = 0;
    for (const row of this.#ofThread.iterate(thread, afterSeq, limit)) {
      bytes += row.size;
      if (bodies.length > 0 && bytes > maxBytes) break;
      if (isSound(row)) bodies.push(keptBodyOf(row));
    }
    return bodies;
  }

  read(seqs: readonly number[]): KeptBody[] {
    const rows = seqs.flatMap((seq) => this.#one.get(seq) ?? []);
    return rows.filter(isSound).map(keptBodyOf);
  }

  threads({ agent, words = [], limit, cursor }: ThreadsQuery): KeptThreadsPage {
    const match = matchOf(words);
    const threads: KeptThread[] = [];
    const seen = new Set<string>();
    let read = 0;
    let last = 0;
    for (const seq of this.#newestFirst(agent, match, cursor ?? Number.MAX_SAFE_INTEGER)) {
      if (threads.length >= limit || ++read > readPerPage) return { threads, cursor: last };
      last = seq;
      const head = this.#head.get(seq);
      if (!head || !isOf(head, agent) || seen.has(head.thread)) continue;
      seen.add(head.thread);
      if (cursor !== undefined && this.#wasShown(head.thread, agent, match, cursor)) continue;
      const { messages, since } = this.#facts.get(head.thread)!;
      const newest = this.#one.get(seq)!;
      if (isSound(newest)) threads.push({ newest: keptBodyOf(newest), messages, since });
    }
    return { threads };
  }

  /** Tells whether a thread was on an earlier page, because of a newer message. */
  #wasShown(thread: string, agent: string | undefined, match: string | undefined, cursor: number): boolean {
    for (const head of this.#newerOfThread.iterate(thread, cursor))
      if (isOf(head, agent) && (match === undefined || this.#matches.get(match, head.seq) !== undefined))
        return true;
    return false;
  }

  #newestFirst(agent: string | undefined, match: string | undefined, before: number): Iterable<number> {
    if (match !== undefined) return this.#matching.iterate(match, before);
    return agent === undefined ? this.#all.iterate(before) : this.#ofAgent.iterate({ agent, before });
  }

  *#logged(): Iterable<LoggedMessage> {
    for (const { number, kept: _, ...record } of this.#log.toKeep()) {
      const found: LoggedMessage[] = [];
      decodeRecord(record, number, { ...noOperations, put: (message) => found.push(message) });
      yield* found;
    }
  }

  #take(messages: readonly LoggedMessage[]): void {
    let highest = this.#meta.number('seq_kept') ?? 0;
    for (const kept of keptBodiesOf(messages, this.#kinds, highest)) {
      const { seq, inbox, correlationId = null, size } = kept;
      const row = { ...kept, correlationId, recipient: agentOf(inbox) };
      this.#insert.run({ ...row, checksum: checksumOf(row) });
      this.#bytes += size + keptOverheadBytes;
      highest = seq;
    }
    this.#meta.set('seq_kept', highest);
    this.#meta.set('kept_bytes', this.#bytes);
  }

  /** The sequence number up to which the words of bodies are in the index. */
  get #worded(): number {
    return this.#meta.number('seq_worded') ?? 0;
  }

  #isOld(createdAt: number, now: number): boolean {
    return createdAt <= now - this.#keeps.ageMs || this.#bytes > this.#keeps.bytes;
  }

  #forgetOne(seq: number, size: number): void {
    this.#delete.run(seq);
    this.#deleteWords.run(seq);
    this.#bytes -= size + keptOverheadBytes;
  }
}

const nothing: KeepBodies = { kinds: [], ageMs: 0, bytes: 0 };

const noOperations = { settle() {}, setAttempts() {}, setAnswered() {}, setTaken() {} };

interface Head {
  seq: number;
  thread: string;
  sender: string;
  recipient: string;
}

function isOf({ sender, recipient }: Head, agent: string | undefined): boolean {
  return agent === undefined || sender === agent || recipient === agent;
}

/** Returns the words as FTS5 reads them; `undefined` without words. */
function matchOf(words: readonly string[]): string | undefined {
  const searched = searchedWords(words);
  return searched.length === 0
    ? undefined
    : searched.map((word) => `"${word.replaceAll('"', '""')}"*`).join(' ');
}

/** Tells whether an error says that the index of words is damaged. Then {@link KeptBodyTable.forgetWords} mends it, in another transaction. */
export function isWordDamage(thrown: unknown): boolean {
  return (thrown as { code?: string }).code === 'SQLITE_CORRUPT_VTAB';
}

function checksumOf({
  seq,
  thread,
  sender,
  createdAt,
  size,
  inbox,
  kind,
  id,
  correlationId,
  body,
}: Omit<Row, 'checksum'>): number {
  return rowChecksum(seq, thread, sender, createdAt, size, inbox, kind, id, correlationId, body);
}

function isSound(row: Row): boolean {
  return row.checksum === checksumOf(row);
}

function keptBodyOf({ correlationId, checksum: _, ...row }: Row): KeptBody {
  return { ...row, ...(correlationId !== null && { correlationId }) };
}
