import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import type Database from 'better-sqlite3';
import {
  isFinalState,
  type NewOutsideTask,
  type OutsideChange,
  type OutsideTask,
  type OutsideTaskQuery,
  type OutsideTasks,
} from '../../outside-tasks/outside-tasks.ts';
import { makeDirectory } from '../data-directory-lock.ts';
import { closeDatabase, isBusy, openFile, toStoreError } from '../database.ts';

/** The version of the schema. It changes with each change of the tables. */
const version = 1;

const schema = `
  CREATE TABLE secret (key BLOB NOT NULL);
  CREATE TABLE task (
    id TEXT PRIMARY KEY,
    caller TEXT NOT NULL,
    agent TEXT NOT NULL,
    tenant TEXT NOT NULL,
    context TEXT NOT NULL,
    hash TEXT NOT NULL,
    message TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    deadline_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    is_sent INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    reason TEXT,
    result TEXT,
    bytes INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX task_listed ON task (caller, agent, tenant, changed_at DESC, id DESC);
  CREATE INDEX task_usage ON task (caller, bytes);
  CREATE INDEX task_open ON task (caller) WHERE state IN ('submitted', 'working');
  CREATE INDEX task_ended ON task (changed_at) WHERE state NOT IN ('submitted', 'working');
`;

const columns = `id, caller, agent, tenant, context, hash, message, created_at AS createdAt, deadline_at AS deadlineAt, state,
  is_sent AS isSent, changed_at AS changedAt, reason, result`;

type Row = Omit<OutsideTask, 'isSent' | 'reason' | 'result'> & {
  isSent: number;
  reason: string | null;
  result: string | null;
};

/** The longest wait for a process that is about to close the file, in milliseconds. The wait blocks the event loop. */
const busyTimeoutMs = 1000;

/**
 * Opens or creates the table. Only its owner can read it, and no other process can open it until it is closed. Throws `a2a_running` if one
 * has it open, else a `StoreError`.
 */
export function openSqliteOutsideTasks(file: string): OutsideTasks {
  let db: Database.Database | undefined;
  try {
    makeDirectory(dirname(file));
    db = openFile({
      file,
      synchronous: 'full',
      schema,
      version,
      busyTimeoutMs,
      otherVersion,
      isExclusive: true,
    });
    return new SqliteOutsideTasks(db);
  } catch (thrown) {
    db?.close();
    if (thrown instanceof SignalboxError) throw thrown;
    if (!isBusy(thrown)) throw toStoreError(thrown, file);
    const message = `${file}: ${messageOf(thrown)}. Another 'signalbox a2a serve' runs on it: stop that one, or use another data directory`;
    throw new SignalboxError('a2a_running', message, { cause: thrown });
  }
}

function otherVersion(file: string, found: number): SignalboxError {
  const message = `${file} has version ${found} of the format, and this Signalbox reads version ${version}. Use the one that wrote it, or move the file away: the tasks in it are then forgotten, and contexts begin anew.`;
  return new SignalboxError('a2a_other_version', message);
}

class SqliteOutsideTasks implements OutsideTasks {
  readonly key: Buffer;
  bytes: number;
  readonly #db: Database.Database;

  constructor(db: Database.Database) {
    this.#db = db;
    this.bytes = db.prepare<[], number>('SELECT coalesce(sum(bytes), 0) FROM task').pluck().get()!;
    db.transaction(() => {
      db.prepare('INSERT INTO secret SELECT ? WHERE NOT EXISTS (SELECT 1 FROM secret)').run(randomBytes(32));
    }).immediate();
    this.key = db.prepare<[], Buffer>('SELECT key FROM secret').pluck().get()!;
  }

  add(task: NewOutsideTask): void {
    const { id, caller, agent, tenant, context, hash, message, createdAt, deadlineAt } = task;
    const bytes = Buffer.byteLength(message);
    this.#db
      .prepare(
        `INSERT INTO task (id, caller, agent, tenant, context, hash, message, created_at, deadline_at, state, is_sent, changed_at, bytes)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'submitted', 0, ?, ?)`,
      )
      .run(id, caller, agent, tenant, context, hash, message, createdAt, deadlineAt, createdAt, bytes);
    this.bytes += bytes;
  }

  find(id: string): OutsideTask | undefined {
    return taskOf(this.#db.prepare<[string], Row>(`SELECT ${columns} FROM task WHERE id = ?`).get(id));
  }

  sent(id: string): void {
    this.#unsynced(() => this.#db.prepare('UPDATE task SET is_sent = 1 WHERE id = ?').run(id));
  }

  change(id: string, { state, at, reason, result }: OutsideChange): boolean {
    const bytes = Buffer.byteLength(result ?? '');
    const write = () =>
      this.#db
        .prepare(
          `UPDATE task SET state = ?, changed_at = max(changed_at, ?), is_sent = 1, reason = ?, result = ?, bytes = bytes + ?
           WHERE id = ? AND state IN ('submitted', 'working')`,
        )
        .run(state, at, reason ?? null, result ?? null, bytes, id).changes > 0;
    const hasChanged = isFinalState(state) ? write() : this.#unsynced(write);
    if (hasChanged) this.bytes += bytes;
    return hasChanged;
  }

  remove(id: string): void {
    this.#forgotten(
      this.#db.prepare<[string], number>('DELETE FROM task WHERE id = ? RETURNING bytes').pluck().all(id),
    );
  }

  open(caller: string): OutsideTask[] {
    return this.#db
      .prepare<[string], Row>(
        `SELECT ${columns} FROM task WHERE caller = ? AND state IN ('submitted', 'working') ORDER BY created_at, id`,
      )
      .all(caller)
      .map((row) => taskOf(row)!);
  }

  list(query: OutsideTaskQuery): { tasks: OutsideTask[]; total: number } {
    const { caller, agent, tenant, context, state, since, after, limit } = query;
    const wheres = ['caller = ?', 'agent = ?', 'tenant = ?'];
    const values: (string | number)[] = [caller, agent, tenant];
    const add = (where: string, ...more: (string | number)[]) => {
      wheres.push(where);
      values.push(...more);
    };
    if (context !== undefined) add('context = ?', context);
    if (state !== undefined) add('state = ?', state);
    if (since !== undefined) add('changed_at >= ?', since);
    const total = this.#db
      .prepare<unknown[], number>(`SELECT count(*) FROM task WHERE ${wheres.join(' AND ')}`)
      .pluck()
      .get(values)!;
    if (after !== undefined) add('(changed_at, id) < (?, ?)', after.changedAt, after.id);
    const rows = this.#db
      .prepare<unknown[], Row>(
        `SELECT ${columns} FROM task WHERE ${wheres.join(' AND ')} ORDER BY changed_at DESC, id DESC LIMIT ?`,
      )
      .all([...values, limit]);
    return { tasks: rows.map((row) => taskOf(row)!), total };
  }

  usage(caller: string): { tasks: number; bytes: number } {
    return this.#db
      .prepare<[string], { tasks: number; bytes: number }>(
        'SELECT count(*) AS tasks, coalesce(sum(bytes), 0) AS bytes FROM task WHERE caller = ?',
      )
      .get(caller)!;
  }

  forgetEnded(before: number): number {
    const forgotten = this.#db
      .prepare<[number], number>(
        `DELETE FROM task WHERE changed_at < ? AND state NOT IN ('submitted', 'working') RETURNING bytes`,
      )
      .pluck()
      .all(before);
    this.#forgotten(forgotten);
    return forgotten.length;
  }

  #forgotten(bytes: readonly number[]): void {
    for (const one of bytes) this.bytes -= one;
  }

  [Symbol.dispose](): void {
    closeDatabase(this.#db);
  }

  /** Writes something that may be lost with the power. */
  #unsynced<T>(write: () => T): T {
    this.#db.pragma('synchronous = normal');
    try {
      return write();
    } finally {
      this.#db.pragma('synchronous = full');
    }
  }
}

function taskOf(row: Row | undefined): OutsideTask | undefined {
  if (!row) return undefined;
  return {
    ...row,
    isSent: row.isSent === 1,
    reason: row.reason ?? undefined,
    result: row.result ?? undefined,
  };
}
