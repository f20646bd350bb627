import type { PostgresDatabase, Statement } from '../internal.ts';
import { journalError } from './journal-error.ts';

/** One kind of writes. Kinds are written in the order of their list, each in one statement for a whole batch. */
export interface WriteKind {
  /** Takes the rows as a JSON array. If it `answers`, it returns the numbers of the rows that it wrote. */
  statement: Statement;
  answers?: boolean;
  /** True if what follows may not begin before this machine remembers the write outside of the database. */
  isMarked?: boolean;
  /** Statements that run after it, with the same rows. */
  behind?: readonly Statement[];
}

interface QueuedWrite {
  kind: number;
  key: string;
  /** The row as a JSON object. */
  json: string;
  resolve: (isWritten: boolean) => void;
  reject: (error: unknown) => void;
}

/** The most writes in one transaction. */
const maxBatch = 500;
/** The most characters of the rows in one transaction. A larger row is written alone. PostgreSQL accepts a gigabyte in one value. */
const maxBatchLength = 64 * 1024 * 1024;

/**
 * Gathers writes while a transaction runs, so that all of them share the next one. One batch never reverses the order of two writes of the
 * same key.
 */
export class WriteQueue {
  readonly #database: PostgresDatabase;
  readonly #kinds: readonly WriteKind[];
  #waiting: QueuedWrite[] = [];
  #writing: Promise<void> | undefined;

  constructor(database: PostgresDatabase, kinds: readonly WriteKind[]) {
    this.#database = database;
    this.#kinds = kinds;
  }

  /** Queues a row of a kind. Resolves when it is on disk, or with false if the statement did not write it. */
  add(kind: number, key: string, row: object): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ kind, key, json: JSON.stringify(row), resolve, reject });
      this.#writing ??= this.#writeAll();
    });
  }

  /** Resolves when all queued writes are on disk, or were rejected. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    // Writes that come in the same turn go with it.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#write(this.#nextBatch());
    this.#writing = undefined;
  }

  #nextBatch(): QueuedWrite[] {
    const last = new Map<string, number>();
    let end = 0;
    let length = 0;
    for (const { key, kind, json } of this.#waiting) {
      length += json.length;
      const isFull = end === maxBatch || (end > 0 && length > maxBatchLength);
      if (isFull || kind <= (last.get(key) ?? -1)) break;
      last.set(key, kind);
      end++;
    }
    return this.#waiting.splice(0, end);
  }

  async #write(batch: readonly QueuedWrite[]): Promise<void> {
    try {
      const unwritten = await this.#database.transaction(async (transaction) => {
        const answers: Promise<QueuedWrite[]>[] = [];
        for (const [number, { statement, answers: doesAnswer, behind = [] }] of this.#kinds.entries()) {
          const writes = batch.filter(({ kind }) => kind === number);
          if (writes.length === 0) continue;
          const values = [`[${writes.map(numbered).join()}]`];
          if (doesAnswer) {
            const rows = transaction.query<{ n: number }>(statement, values);
            answers.push(rows.then((written) => missing(writes, written)));
          } else transaction.write(statement, values);
          for (const each of behind) transaction.write(each, values);
        }
        return new Set((await Promise.all(answers)).flat());
      });
      const unmarked = await this.#mark(batch);
      for (const write of batch)
        if (unmarked && this.#isMarked(write)) write.reject(unmarked);
        else write.resolve(!unwritten.has(write));
    } catch (thrown) {
      const error = journalError(thrown);
      for (const { reject } of batch) reject(error);
    }
  }

  /** Syncs the mark file once for all writes of a batch that need it. Returns the error if that fails. */
  async #mark(batch: readonly QueuedWrite[]): Promise<Error | undefined> {
    if (!batch.some((write) => this.#isMarked(write))) return undefined;
    return this.#database.syncMark().then(() => undefined, journalError);
  }

  #isMarked({ kind }: QueuedWrite): boolean {
    return this.#kinds[kind]?.isMarked ?? false;
  }
}

/** Returns the row of a write as JSON, with its number. */
function numbered({ json }: QueuedWrite, n: number): string {
  return `{"n":${n},${json.slice(1)}`;
}

function missing(writes: readonly QueuedWrite[], written: readonly { n: number }[]): QueuedWrite[] {
  const numbers = new Set(written.map(({ n }) => n));
  return writes.filter((_, n) => !numbers.has(n));
}
