import type { PostgresDatabase, Statement } from '@signalbox/store-postgres/internal';
import { journalError } from './journal-error.ts';

/** One kind of writes. Kinds are written in the order of their list, each in one statement for a whole batch. */
export interface WriteKind {
  /** Is given the rows as a JSON array. Where it `answers`, it returns the numbers of those rows that it wrote. */
  statement: Statement;
  answers?: boolean;
  /** Run behind it, with the same rows. */
  behind?: readonly Statement[];
}

interface QueuedWrite {
  kind: number;
  key: string;
  row: object;
  resolve: (isWritten: boolean) => void;
  reject: (error: unknown) => void;
}

/** The most writes of one transaction. */
const maxBatch = 500;

/**
 * Gathers writes while a transaction is under way, so that all of them share the next one. Writes of one key are never in one batch in
 * another order than that in which they came.
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

  /** Queues a row of a kind. Resolves when it is on disk; with false if the statement did not write it. */
  add(kind: number, key: string, row: object): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ kind, key, row, resolve, reject });
      this.#writing ??= this.#writeAll();
    });
  }

  /** Resolves when all that is queued is on disk, or was rejected. */
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
    for (const { key, kind } of this.#waiting) {
      if (end === maxBatch || kind <= (last.get(key) ?? -1)) break;
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
          const values = [JSON.stringify(writes.map(({ row }, n) => ({ ...row, n })))];
          if (doesAnswer) {
            const rows = transaction.query<{ n: number }>(statement, values);
            answers.push(rows.then((written) => missing(writes, written)));
          } else transaction.write(statement, values);
          for (const each of behind) transaction.write(each, values);
        }
        return new Set((await Promise.all(answers)).flat());
      });
      for (const write of batch) write.resolve(!unwritten.has(write));
    } catch (thrown) {
      const error = journalError(thrown);
      for (const { reject } of batch) reject(error);
    }
  }
}

function missing(writes: readonly QueuedWrite[], written: readonly { n: number }[]): QueuedWrite[] {
  const numbers = new Set(written.map(({ n }) => n));
  return writes.filter((_, n) => !numbers.has(n));
}
