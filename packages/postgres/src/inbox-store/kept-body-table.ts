import type {
  KeepBodies,
  KeptBodies,
  KeptBody,
  KeptThread,
  KeptThreadsPage,
  ThreadsQuery,
} from '@signalbox/store';
import {
  agentOf,
  keptBodiesOf,
  keptOverheadBytes,
  type LoggedMessage,
  maxCounted,
  searchedText,
  searchedWords,
} from '@signalbox/store/rules';
import type { Transaction } from '../database/attempt.ts';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement, Value } from '../database/statement.ts';

/** The most bodies, and the most of their bytes, whose words one step adds. It delays the commits behind it by some milliseconds. */
const messagesPerStep = 100;
const bytesPerStep = 64 * 1024;
/** The most bodies that one step forgets. */
const forgottenPerStep = 200;
/** The most messages that a page of threads looks at. Then the page ends, although it may have room. */
const readPerPage = 5000;
/** The most of them that one statement reads. */
const readAtOnce = 500;
/** The most characters of a word that are compared. PostgreSQL stores at most 2046 bytes. */
const maxWordLength = 500;

/** A row without the body. */
export interface KeptRow extends Omit<KeptBody, 'correlationId' | 'body'> {
  correlationId: string | null;
}

/** A message of a thread, and whether it is one that was asked for. */
interface Head {
  seq: number;
  thread: string;
  isMatch: boolean;
}

/** SQL for the columns of {@link KeptRow}, of the table with the alias `m`. */
export const keptColumns = `m.seq, m.thread, m.id, m.correlation_id AS "correlationId", m.sender, m.inbox, m.kind,
  m.created_at AS "createdAt", m.size`;

/**
 * SQL for the number of a body where it is found by something else. The key of the table can't serve it, which the planner would walk
 * instead, through the bodies of all others. For the same reason limits are values of statements: the planner expects that they are reached.
 */
const place = 'seq + 0';

/** SQL that adds bytes to those that a broker has added, less those that it has removed. */
const count = (broker: string, bytes: string): string =>
  `INSERT INTO @kept_amount AS a SELECT ${broker}, ${bytes}
   ON CONFLICT (broker) DO UPDATE SET bytes = a.bytes + excluded.bytes`;

/** SQL that adds bodies, given {@link keptValues}. */
export const insertKept = `WITH added AS (
    INSERT INTO @kept_body (seq, thread, id, correlation_id, sender, recipient, inbox, kind, created_at, size, body, words)
    SELECT seq, thread, id, correlation_id, sender, recipient, inbox, kind, created_at, size, body, words::tsvector
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[],
      $10::int[], $11::bytea[], $12::text[])
      AS k(seq, thread, id, correlation_id, sender, recipient, inbox, kind, created_at, size, body, words)
    RETURNING size
  ) ${count('$13::text', `sum(size + ${keptOverheadBytes}) FROM added`)}`;

/** Returns the values of {@link insertKept}, `with words` or without those words that {@link KeptBodyTable.index} adds later. */
export function keptValues(
  bodies: readonly KeptBody[],
  broker: string,
  how: 'with words' | 'without words',
): Value[] {
  const all = <T>(of: (body: KeptBody) => T): T[] => bodies.map(of);
  return [
    all(({ seq }) => seq),
    all(({ thread }) => thread),
    all(({ id }) => id),
    all(({ correlationId }) => correlationId ?? null),
    all(({ sender }) => sender),
    all(({ inbox }) => agentOf(inbox)),
    all(({ inbox }) => inbox),
    all(({ kind }) => kind),
    all(({ createdAt }) => createdAt),
    all(({ size }) => size),
    all(({ body }) => body),
    all(({ body }) => (how === 'with words' ? vectorOf(body) : null)),
    broker,
  ];
}

/** Returns the body of a row. */
export function keptBodyOf({ correlationId, ...row }: KeptRow, body: Buffer): KeptBody {
  return { ...row, ...(correlationId !== null && { correlationId }), body: body.toString() };
}

/** The bodies that are kept. Several brokers add to them, and the one that keeps house adds their words and forgets the old ones. */
export class KeptBodyTable implements KeptBodies {
  readonly keeps: KeepBodies | undefined;
  readonly #database: PostgresDatabase;
  readonly #keepsHouse: () => boolean;
  readonly #kinds: ReadonlySet<string>;
  readonly #insert: Statement;
  readonly #lastWithoutWords: Statement;
  readonly #withoutWords: Statement;
  readonly #addWords: Statement;
  readonly #oldest: Statement;
  readonly #forgetSome: Statement;
  readonly #forgetOfThread: Statement;
  readonly #ofThread: Statement;
  readonly #some: Statement;
  readonly #newest: Statement;
  readonly #newestOfAgent: Statement;
  readonly #matching: Statement;
  readonly #shown: Statement;
  readonly #page: Statement;

  constructor(database: PostgresDatabase, keeps: KeepBodies | undefined, keepsHouse: () => boolean) {
    this.keeps = keeps;
    this.#database = database;
    this.#keepsHouse = keepsHouse;
    this.#kinds = new Set(keeps?.kinds);
    this.#insert = database.statement(insertKept);
    this.#lastWithoutWords = database.statement(
      `SELECT seq FROM @kept_body WHERE words IS NULL ORDER BY ${place} DESC LIMIT $1`,
    );
    this.#withoutWords = database.statement(
      `SELECT seq, body FROM @kept_body m WHERE words IS NULL AND ${place} <= ${lastWithin('words IS NULL', `${place} <= $1`)}
       ORDER BY ${place}`,
    );
    // All transactions lock rows in the same order, so that no two wait for each other.
    this.#addWords = database.statement(
      `WITH locked AS (SELECT seq FROM @kept_body WHERE seq = ANY($1::bigint[]) ORDER BY seq FOR UPDATE)
       UPDATE @kept_body m SET words = k.words::tsvector FROM unnest($1::bigint[], $2::text[]) AS k(seq, words)
       WHERE m.seq = k.seq AND k.seq IN (SELECT seq FROM locked)`,
    );
    this.#oldest = database.statement(
      `SELECT seq, created_at AS "createdAt", size, (SELECT coalesce(sum(bytes), 0)::bigint FROM @kept_amount) AS bytes
       FROM @kept_body ORDER BY seq LIMIT ${forgottenPerStep}`,
    );
    const forget = (condition: string): Statement =>
      database.statement(
        `WITH gone AS (
           DELETE FROM @kept_body WHERE seq = ANY(ARRAY(
             SELECT seq FROM @kept_body WHERE ${condition} ORDER BY ${place} LIMIT $2 FOR UPDATE
           )) RETURNING size
         ), counted AS (${count('$3::text', `-sum(size + ${keptOverheadBytes}) FROM gone HAVING count(*) > 0`)})
         SELECT count(*) AS bodies FROM gone`,
      );
    this.#forgetSome = forget('seq = ANY($1::bigint[])');
    this.#forgetOfThread = forget('thread = $1');
    this.#ofThread = database.statement(
      `SELECT ${keptColumns}, m.body FROM @kept_body m WHERE m.thread = $4 AND ${place} > $1
         AND ${place} <= ${lastWithin('thread = $4', `${place} > $1`)} ORDER BY ${place}`,
    );
    this.#some = database.statement(
      `SELECT ${keptColumns}, m.body FROM @kept_body m WHERE m.seq = ANY($1::bigint[])`,
    );
    const hasWords = '($3::tsquery IS NULL OR words @@ $3::tsquery)';
    const isOf = (agent: string): string =>
      `(${agent}::text IS NULL OR sender = ${agent} OR recipient = ${agent})`;
    this.#newest = database.statement(
      `SELECT seq, thread, ${hasWords} AS "isMatch" FROM (
         SELECT seq, thread, words FROM @kept_body WHERE seq < $1 ORDER BY seq DESC LIMIT $2
       ) AS k ORDER BY seq DESC`,
    );
    const newestOf = (role: string): string =>
      `(SELECT seq, thread, words FROM @kept_body WHERE ${role} = $4 AND ${place} < $1 ORDER BY ${place} DESC LIMIT $2)`;
    this.#newestOfAgent = database.statement(
      `SELECT seq, thread, ${hasWords} AS "isMatch" FROM (
         SELECT DISTINCT ON (seq) * FROM (${newestOf('sender')} UNION ALL ${newestOf('recipient')}) AS either
         ORDER BY seq DESC LIMIT $2
       ) AS k ORDER BY seq DESC`,
    );
    // The index of words has no order, so it is read up to a limit, which does not depend on the page.
    this.#matching = database.statement(
      `WITH found AS MATERIALIZED (
         SELECT seq, thread, ${isOf('$2')} AS "isMatch" FROM @kept_body WHERE words @@ $1::tsquery
       ) SELECT * FROM found LIMIT ${readPerPage + 1}`,
    );
    this.#shown = database.statement(
      `SELECT k.thread FROM unnest($5::text[]) AS k(thread) WHERE EXISTS (
         SELECT FROM (
           SELECT sender, recipient, words FROM @kept_body m WHERE m.thread = k.thread AND ${place} >= $1 ORDER BY ${place} LIMIT $2
         ) AS newer WHERE ${isOf('$4')} AND ${hasWords}
       )`,
    );
    this.#page = database.statement(
      `SELECT ${keptColumns}, m.body, t.messages, t.since FROM unnest($1::bigint[]) AS k(seq) JOIN @kept_body m ON m.seq = k.seq
       CROSS JOIN LATERAL (
         SELECT count(*) AS messages, min(created_at) AS since FROM (
           SELECT created_at FROM @kept_body o WHERE o.thread = m.thread ORDER BY o.seq + 0 LIMIT $2
         ) AS of_thread
       ) AS t ORDER BY m.seq DESC`,
    );
  }

  /** Sends the bodies of new messages that are to be kept, if there are any. */
  save(transaction: Transaction, added: readonly LoggedMessage[]): void {
    if (this.#kinds.size === 0) return;
    const bodies = [...keptBodiesOf(added, this.#kinds, 0)];
    if (bodies.length > 0)
      transaction.write(this.#insert, keptValues(bodies, this.#database.broker, 'without words'));
  }

  async index(now: number): Promise<boolean> {
    if (!this.#keepsHouse()) return false;
    const isMore = await this.#forgetOld(now, this.keeps ?? { ageMs: 0, bytes: 0 });
    return (this.keeps !== undefined && (await this.#addSomeWords(Number.MAX_SAFE_INTEGER))) || isMore;
  }

  async threads({ agent = null, words, limit, cursor }: Query): Promise<KeptThreadsPage> {
    const match = matchOf(words ?? []);
    if (match === '') return { threads: [] };
    if (match !== null) await this.#addAllWords();
    const seen = new Set<string>();
    const newest: number[] = [];
    let read = 0;
    let last = 0;
    for await (const heads of this.#newestFirst(agent, match, cursor ?? Number.MAX_SAFE_INTEGER)) {
      const shown = cursor === undefined ? seen : await this.#shownOf(heads, agent, match, cursor);
      for (const { seq, thread, isMatch } of heads) {
        if (newest.length >= limit || ++read > readPerPage)
          return { threads: await this.#threadsOf(newest), cursor: last };
        last = seq;
        if (!isMatch || seen.has(thread)) continue;
        if (!shown.has(thread)) newest.push(seq);
        seen.add(thread);
      }
    }
    return { threads: await this.#threadsOf(newest) };
  }

  async thread(thread: string, afterSeq: number, limit: number, maxBytes: number): Promise<KeptBody[]> {
    const rows = await this.#database.read<KeptRow & { body: Buffer }>(this.#ofThread, [
      ...[afterSeq, limit, Math.floor(maxBytes), thread],
    ]);
    return rows.map(({ body, ...row }) => keptBodyOf(row, body));
  }

  async read(seqs: readonly number[]): Promise<KeptBody[]> {
    const rows = await this.#database.read<KeptRow & { body: Buffer }>(this.#some, [seqs]);
    return rows.map(({ body, ...row }) => keptBodyOf(row, body));
  }

  async forget(thread: string): Promise<number> {
    let forgotten = 0;
    for (;;) {
      const bodies = await this.#forget(this.#forgetOfThread, thread);
      if (bodies === 0) return forgotten;
      forgotten += bodies;
    }
  }

  /** Adds the words of some bodies with numbers up to `upTo`. Resolves with false if there were none. */
  async #addSomeWords(upTo: number): Promise<boolean> {
    const rows = await this.#database.read<{ seq: number; body: Buffer }>(this.#withoutWords, [
      ...[upTo, messagesPerStep, bytesPerStep],
    ]);
    if (rows.length === 0) return false;
    const values = [rows.map(({ seq }) => seq), rows.map(({ body }) => vectorOf(body.toString()))];
    await this.#database.transaction(async (transaction) => transaction.write(this.#addWords, values));
    return true;
  }

  /** Adds the words of all bodies that are kept now. */
  async #addAllWords(): Promise<void> {
    const [last] = await this.#database.read<{ seq: number }>(this.#lastWithoutWords, [1]);
    if (last) while (await this.#addSomeWords(last.seq));
  }

  async #forgetOld(now: number, { ageMs, bytes: maxBytes }: Omit<KeepBodies, 'kinds'>): Promise<boolean> {
    const oldest = await this.#database.read<OldRow>(this.#oldest);
    let bytes = oldest[0]?.bytes ?? 0;
    const old: number[] = [];
    for (const { seq, createdAt, size } of oldest) {
      if (createdAt > now - ageMs && bytes <= maxBytes) break;
      bytes -= size + keptOverheadBytes;
      old.push(seq);
    }
    if (old.length > 0) await this.#forget(this.#forgetSome, old);
    return old.length === forgottenPerStep;
  }

  async #forget(statement: Statement, which: string | readonly number[]): Promise<number> {
    const [gone] = await this.#database.transaction((transaction) =>
      transaction.query<{ bodies: number }>(statement, [which, forgottenPerStep, this.#database.broker]),
    );
    return gone?.bodies ?? 0;
  }

  /** Reads messages before a number in parts, the newest first. Those that were not asked for are among them. */
  async *#newestFirst(agent: string | null, match: string | null, before: number): AsyncIterable<Head[]> {
    if (match !== null) {
      const found = await this.#database.read<Head>(this.#matching, [match, agent]);
      if (found.length <= readPerPage) {
        const some = found.filter(({ seq }) => seq < before).sort((a, b) => b.seq - a.seq);
        for (let at = 0; at < some.length; at += readAtOnce) yield some.slice(at, at + readAtOnce);
        return;
      }
    }
    // Words that so many messages hold are found soon without their index.
    for (let from: number | undefined = before; from !== undefined; ) {
      const heads: Head[] =
        agent === null
          ? await this.#database.read<Head>(this.#newest, [from, readAtOnce, match])
          : await this.#database.read<Head>(this.#newestOfAgent, [from, readAtOnce, match, agent]);
      yield heads;
      from = heads.length < readAtOnce ? undefined : heads.at(-1)?.seq;
    }
  }

  /** Returns the threads that were on earlier pages, because of newer messages. */
  async #shownOf(
    heads: readonly Head[],
    agent: string | null,
    match: string | null,
    cursor: number,
  ): Promise<ReadonlySet<string>> {
    const threads = new Set(heads.filter(({ isMatch }) => isMatch).map(({ thread }) => thread));
    const rows = await this.#database.read<{ thread: string }>(this.#shown, [
      ...[cursor, maxCounted, match, agent, [...threads]],
    ]);
    return new Set(rows.map(({ thread }) => thread));
  }

  async #threadsOf(newest: readonly number[]): Promise<KeptThread[]> {
    const rows = await this.#database.read<ThreadRow>(this.#page, [newest, maxCounted]);
    return rows.map(({ body, messages, since, ...row }) => ({
      newest: keptBodyOf(row, body),
      messages,
      since,
    }));
  }
}

type Query = Omit<ThreadsQuery, 'agent'> & { agent?: string | null };
type OldRow = { seq: number; createdAt: number; size: number; bytes: number };
type ThreadRow = KeptRow & { body: Buffer; messages: number; since: number };

/**
 * SQL for the number of the last body, among at most $2 that are found, whose bytes are together at most $3. It is that of the first one if
 * no other is.
 */
function lastWithin(condition: string, range: string): string {
  return `(SELECT max(place) FROM (
      SELECT place, sum(size) OVER (ORDER BY place) AS upto, row_number() OVER (ORDER BY place) AS nth
      FROM (SELECT ${place} AS place, size FROM @kept_body m WHERE ${condition} AND ${range} ORDER BY ${place} LIMIT $2) AS next
    ) AS k WHERE k.upto <= $3::bigint OR k.nth = 1)`;
}

/** Returns the words of a text as PostgreSQL stores them. They are independent of the language and the version of the server. */
function vectorOf(body: string): string {
  return wordsOf(searchedText(body))
    .map((word, at) => `${word}:${at + 1}`)
    .join(' ');
}

/** Returns a search as PostgreSQL reads it: null without words, and the empty text if nothing can match. */
function matchOf(words: readonly string[]): string | null {
  const searched = searchedWords(words);
  const phrases = searched.map(wordsOf).filter((phrase) => phrase.length > 0);
  return searched.length === 0 ? null : phrases.map((phrase) => `${phrase.join(' <-> ')}:*`).join(' & ');
}

/** Returns the words of a text: letters and digits, which need no quotes. */
function wordsOf(text: string): string[] {
  const words = text.match(/[\p{L}\p{N}\p{Co}][\p{L}\p{M}\p{N}\p{Co}]*/gu) ?? [];
  return words.map((word) => word.slice(0, maxWordLength));
}
