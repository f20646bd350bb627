import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';
import type Database from 'better-sqlite3';
import type {
  NewOutsideTask,
  OutsideChange,
  OutsideTask,
  OutsideTaskQuery,
  OutsideTasks,
  OutsideUsage,
} from '../../outside-tasks/outside-tasks.ts';
import { readDatabase } from '../backup/read-database.ts';
import { lockFile, makeDirectory } from '../data-directory-lock.ts';
import { closeDatabase, isBusy, openFile, toStoreError } from '../database.ts';
import { shrinkWhileOpen } from '../file-shrinker.ts';
import { WalSync } from '../wal-sync.ts';

/** The version of the schema. It changes with each change of the tables. */
const version = 2;

// Messages and results are long, and stand apart, so that a change of a state does not write them again.
const schema = `
  CREATE TABLE secret (key BLOB NOT NULL);
  CREATE TABLE body (id TEXT PRIMARY KEY, message TEXT NOT NULL, result TEXT);
  CREATE TABLE task (
    id TEXT PRIMARY KEY,
    caller TEXT NOT NULL,
    agent TEXT NOT NULL,
    tenant TEXT NOT NULL,
    context TEXT NOT NULL,
    hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    deadline_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    is_sent INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    reason TEXT,
    bytes INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX task_listed ON task (caller, agent, tenant, changed_at DESC, id DESC);
  CREATE INDEX task_open ON task (caller) WHERE state IN ('submitted', 'working');
  CREATE INDEX task_ended ON task (changed_at) WHERE state NOT IN ('submitted', 'working');
`;

/** The format of the file. */
export const outsideFormat = { schema, version };

const columns = `id, caller, agent, tenant, context, hash, message, created_at AS createdAt, deadline_at AS deadlineAt, state,
  is_sent AS isSent, changed_at AS changedAt, reason, result`;
const tables = 'task JOIN body USING (id)';

type Row = Omit<OutsideTask, 'isSent' | 'reason' | 'result'> & {
  isSent: number;
  reason: string | null;
  result: string | null;
};

type Value = string | number | null;

/** The pages of the log at which SQLite copies them into the file: 32 MiB. */
const checkpointPages = 8192;
/** The length of messages and answers, in characters, after which a page of a list ends. */
const pageLength = 4 * 1024 * 1024;
/** The most tasks that are kept in memory, and the most characters of the message and the answer of one. */
const maxRecent = 512;
const recentLength = 16 * 1024;
/** The time after which it is noted that the broker has a message, in milliseconds. If that is lost, the broker knows the repeat. */
const sentMs = 20;
/** The longest wait for a process that is about to close the file, in milliseconds. The wait blocks the event loop. */
const busyTimeoutMs = 1000;

/**
 * Opens or creates the table. Only its owner can read it, and until it is closed no other process can open it so, but copy it for a backup.
 * Rejects with `a2a_running` if one has it open, else with a `StoreError`.
 */
export async function openSqliteOutsideTasks(file: string): Promise<OutsideTasks> {
  let lock: Database.Database | undefined;
  let db: Database.Database | undefined;
  let log: WalSync | undefined;
  try {
    makeDirectory(dirname(file));
    // A lock on the table itself would keep out the broker that copies it.
    lock = lockFile(`${file}.lock`, busyTimeoutMs);
    const synchronous = 'normal';
    db = openFile({ file, synchronous, ...outsideFormat, busyTimeoutMs, otherVersion });
    // By default SQLite syncs the file itself after every few dozen tasks, and everything waits for that.
    db.pragma(`wal_autocheckpoint = ${checkpointPages}`);
    createKey(db);
    log = new WalSync(file);
    await log.sync();
    shrinkWhileOpen(db, file);
    return new SqliteOutsideTasks(db, log, lock);
  } catch (thrown) {
    await log?.close();
    db?.close();
    lock?.close();
    if (thrown instanceof SignalboxError) throw thrown;
    if (!isBusy(thrown)) throw toStoreError(thrown, file);
    const message = `${file} is in use by another 'signalbox a2a serve'. Stop that one, or use another data directory`;
    throw new SignalboxError('a2a_running', message, { cause: thrown });
  }
}

/** Counts the tasks in a file that no process has open. Throws a `StoreError`. */
export function verifyOutsideTasks(file: string): { tasks: number; problems: string[] } {
  return readDatabase(file, outsideFormat, (db, problems) => ({
    tasks: db.prepare<[], number>(`SELECT count(*) FROM ${tables}`).pluck().get()!,
    problems,
  }));
}

/**
 * Has the messages of open tasks sent again, since the restored broker may lack those that were sent after its copy. It knows the others by
 * their ids.
 */
export function resendRestoredTasks(file: string): void {
  const db = openFile({ file, synchronous: 'full', ...outsideFormat, busyTimeoutMs, otherVersion });
  try {
    db.exec(`UPDATE task SET is_sent = 0 WHERE state IN ('submitted', 'working')`);
  } finally {
    closeDatabase(db);
  }
}

function otherVersion(file: string, found: number): SignalboxError {
  const message = `${file} has version ${found} of the format, and this Signalbox reads version ${version}. Use the one that wrote it, or move the file away: the tasks in it are then forgotten, and contexts begin anew.`;
  return new SignalboxError('a2a_other_version', message);
}

function createKey(db: Database.Database): void {
  const create = db.transaction(() => {
    db.prepare('INSERT INTO secret SELECT ? WHERE NOT EXISTS (SELECT 1 FROM secret)').run(randomBytes(32));
  });
  create.immediate();
}

/** Each write is one commit, which reads show at once. A thread syncs the log, for all writes that wait for it together. */
class SqliteOutsideTasks implements OutsideTasks {
  readonly key: Buffer;
  bytes: number;
  readonly #db: Database.Database;
  readonly #log: WalSync;
  readonly #lock: Database.Database;
  readonly #statements = new Map<string, Database.Statement<Value[], unknown>>();
  /** Tasks as they are in the file: one that runs is read many times. */
  readonly #recent = new Map<string, OutsideTask>();
  /** What callers use, as far as it was asked for since tasks were forgotten. */
  readonly #usage = new Map<string, OutsideUsage>();
  /** Tasks whose messages the broker has, and that are not noted as such. Most end before that, which notes it, too. */
  readonly #sent = new Set<string>();
  #noting: NodeJS.Timeout | undefined;

  constructor(db: Database.Database, log: WalSync, lock: Database.Database) {
    this.#db = db;
    this.#log = log;
    this.#lock = lock;
    this.key = db.prepare<[], Buffer>('SELECT key FROM secret').pluck().get()!;
    this.bytes = db.prepare<[], number>('SELECT coalesce(sum(bytes), 0) FROM task').pluck().get()!;
  }

  add(task: NewOutsideTask): Promise<void> {
    const { id, caller, agent, tenant, context, hash, message, createdAt, deadlineAt } = task;
    const bytes = Buffer.byteLength(message);
    this.#together(() => {
      this.#run('INSERT INTO body (id, message) VALUES (?, ?)', id, message);
      this.#run(
        `INSERT INTO task (id, caller, agent, tenant, context, hash, created_at, deadline_at, state, is_sent, changed_at, bytes)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'submitted', 0, ?, ?)`,
        ...[id, caller, agent, tenant, context, hash, createdAt, deadlineAt, createdAt, bytes],
      );
    });
    this.#count(caller, { tasks: 1, bytes });
    const begun = { state: 'submitted', isSent: false, changedAt: createdAt } as const;
    this.#remember({ ...task, ...begun, reason: undefined, result: undefined });
    return this.#log.sync();
  }

  find(id: string): OutsideTask | undefined {
    const known = this.#recent.get(id);
    if (known) return known;
    const row = this.#statement(`SELECT ${columns} FROM ${tables} WHERE id = ?`).get(id) as Row | undefined;
    return row && this.#remember(taskOf({ ...row, isSent: this.#sent.has(id) ? 1 : row.isSent }));
  }

  sent(id: string): void {
    const known = this.#recent.get(id);
    if (known) this.#recent.set(id, { ...known, isSent: true });
    this.#sent.add(id);
    this.#noting ??= setTimeout(() => {
      try {
        this.#noteSent();
      } catch {
        // The disk has failed. The next write of a task says so.
      }
    }, sentMs);
  }

  change(id: string, { state, at, reason, result }: OutsideChange): boolean {
    const bytes = Buffer.byteLength(result ?? '');
    const caller = this.#together(() => {
      const [found] = this.#all<string>(
        `UPDATE task SET state = ?, changed_at = max(changed_at, ?), is_sent = 1, reason = ?, bytes = bytes + ?
         WHERE id = ? AND state IN ('submitted', 'working') RETURNING caller`,
        ...[state, at, reason ?? null, bytes, id],
      );
      if (found !== undefined && result !== undefined)
        this.#run('UPDATE body SET result = ? WHERE id = ?', result, id);
      return found;
    });
    if (caller === undefined) return false;
    this.#sent.delete(id);
    const known = this.#recent.get(id);
    const changedAt = Math.max(known?.changedAt ?? 0, at);
    if (known) this.#remember({ ...known, state, changedAt, isSent: true, reason, result });
    this.#count(caller, { tasks: 0, bytes });
    return true;
  }

  synced(): Promise<void> {
    return this.#log.sync();
  }

  remove(id: string): void {
    this.#forget('id = ?', id);
  }

  unsent(caller: string): string[] {
    this.#noteSent();
    return this.#all<string>(
      `SELECT id FROM task WHERE caller = ? AND state IN ('submitted', 'working') AND is_sent = 0 ORDER BY created_at, id`,
      caller,
    );
  }

  overdue(caller: string, before: number): string[] {
    return this.#all<string>(
      `SELECT id FROM task WHERE caller = ? AND state IN ('submitted', 'working') AND deadline_at < ?`,
      ...[caller, before],
    );
  }

  list(query: OutsideTaskQuery): { tasks: OutsideTask[]; total: number; isMore: boolean } {
    const { caller, agent, tenant, context, state, since, after, limit } = query;
    const wheres = ['caller = ?', 'agent = ?', 'tenant = ?'];
    const values: Value[] = [caller, agent, tenant];
    const add = (where: string, ...more: Value[]) => {
      wheres.push(where);
      values.push(...more);
    };
    if (context !== undefined) add('context = ?', context);
    if (state !== undefined) add('state = ?', state);
    if (since !== undefined) add('changed_at >= ?', since);
    const [total = 0] = this.#all<number>(
      `SELECT count(*) FROM task WHERE ${wheres.join(' AND ')}`,
      ...values,
    );
    if (after !== undefined) add('(changed_at, id) < (?, ?)', after.changedAt, after.id);
    const page = `SELECT ${columns} FROM ${tables} WHERE ${wheres.join(' AND ')} ORDER BY changed_at DESC, id DESC`;
    const tasks: OutsideTask[] = [];
    let length = 0;
    for (const row of this.#statement(page).iterate(...values) as IterableIterator<Row>) {
      if (tasks.length >= limit || length > pageLength) return { tasks, total, isMore: true };
      tasks.push(taskOf(row));
      length += row.message.length + (row.result?.length ?? 0);
    }
    return { tasks, total, isMore: false };
  }

  usage(caller: string): OutsideUsage {
    const known = this.#usage.get(caller);
    if (known) return known;
    const sql = 'SELECT count(*) AS tasks, coalesce(sum(bytes), 0) AS bytes FROM task WHERE caller = ?';
    const usage = this.#statement(sql).get(caller) as OutsideUsage;
    this.#usage.set(caller, usage);
    return usage;
  }

  forgetEnded(before: number): number {
    return this.#forget(`changed_at < ? AND state NOT IN ('submitted', 'working')`, before);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#noteSent();
    await this.#log.close();
    closeDatabase(this.#db);
    this.#lock.close();
  }

  #noteSent(): void {
    clearTimeout(this.#noting);
    this.#noting = undefined;
    if (this.#sent.size === 0) return;
    this.#together(() => {
      for (const id of this.#sent) this.#run('UPDATE task SET is_sent = 1 WHERE id = ? AND is_sent = 0', id);
    });
    this.#sent.clear();
  }

  #remember(task: OutsideTask): OutsideTask {
    this.#recent.delete(task.id);
    if (task.message.length + (task.result?.length ?? 0) > recentLength) return task;
    this.#recent.set(task.id, task);
    const [oldest] = this.#recent.keys();
    if (this.#recent.size > maxRecent && oldest !== undefined) this.#recent.delete(oldest);
    return task;
  }

  #forget(where: string, value: Value): number {
    const forgotten = this.#together(() => {
      this.#run(`DELETE FROM body WHERE id IN (SELECT id FROM task WHERE ${where})`, value);
      return this.#all<number>(`DELETE FROM task WHERE ${where} RETURNING bytes`, value);
    });
    if (forgotten.length > 0) {
      this.#usage.clear();
      this.#recent.clear();
    }
    for (const bytes of forgotten) this.bytes -= bytes;
    return forgotten.length;
  }

  /** Makes one commit of several writes. */
  #together<T>(writes: () => T): T {
    return this.#db.transaction(writes)();
  }

  #count(caller: string, more: OutsideUsage): void {
    this.bytes += more.bytes;
    const known = this.#usage.get(caller);
    if (known) {
      known.tasks += more.tasks;
      known.bytes += more.bytes;
    }
  }

  #statement(sql: string): Database.Statement<Value[], unknown> {
    const known = this.#statements.get(sql) ?? this.#db.prepare<Value[], unknown>(sql);
    this.#statements.set(sql, known);
    return known;
  }

  #run(sql: string, ...values: Value[]): void {
    this.#statement(sql).run(...values);
  }

  /** Returns the only column of the rows. */
  #all<T>(sql: string, ...values: Value[]): T[] {
    return this.#statement(sql)
      .pluck()
      .all(...values) as T[];
  }
}

function taskOf(row: Row): OutsideTask {
  const { isSent, reason, result } = row;
  return { ...row, isSent: isSent === 1, reason: reason ?? undefined, result: result ?? undefined };
}
