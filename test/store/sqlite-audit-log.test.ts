import { statSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AuditKind,
  type AuditLog,
  auditKinds,
  openSqliteAuditLog,
  type SqliteAuditLogOptions,
} from '@signalbox/store';
import { auditLogConformance, change, entriesOf, problemsOf, refusal } from '@signalbox/store/conformance';
import { verifyAuditLog } from '@signalbox/store/internal';
import { tempDir } from '@signalbox/testing';
import Database from 'better-sqlite3';
import { expect, it, vi } from 'vitest';

const minute = 60_000;
const at = 1_800_000_000_000;
const kinds = Object.keys(auditKinds) as AuditKind[];

auditLogConformance('SQLite', openLog);

it('stays small in a flood of one kind', async () => {
  await using setup = await openLog({ maxBytes: { refusal: 128 * 1024 } });
  for (let i = 0; i < 10_000; i++)
    setup.log.record(refusal({ at: at + i, agent: `agent-${i}`, detail: 'x'.repeat(100) }));
  await setup.reopen();
  expect(statSync(setup.file).size).toBeLessThan(400 * 1024);
  const rows = (await entriesOf(setup.log)).length;
  await setup.log[Symbol.asyncDispose]();
  expect(verifyAuditLog(setup.file)).toEqual({ problems: [], rows });
});

it('has changes on disk at once, others within a second, and repeats within a minute, without anybody asking', async () => {
  vi.useFakeTimers();
  try {
    await using setup = await openLog();
    const rows = () => count(setup.file);
    setup.log.record(refusal({ detail: 'x'.repeat(501) }));
    setup.log.record(refusal());
    expect(rows()).toBe(0);
    vi.advanceTimersByTime(1000);
    expect(rows()).toBe(1);
    expect(String((await entriesOf(await setup.reopen()))[0]?.detail)).toHaveLength(500);
    setup.log.record(change());
    expect(rows()).toBe(3);
    setup.log.record(refusal());
    setup.log.record(refusal());
    vi.advanceTimersByTime(1000);
    expect(rows()).toBe(4);
    vi.advanceTimersByTime(minute);
    expect(rows()).toBe(5);
  } finally {
    vi.useRealTimers();
  }
});

it.each([
  [
    'a row that was changed',
    'UPDATE audit_change SET entry = replace(entry, \'"3"\', \'"5"\') WHERE number = 3',
    3,
  ],
  ['a row that was taken out', 'DELETE FROM audit_change WHERE number = 3', 4],
  ['a first row that was taken out', 'DELETE FROM audit_change WHERE number = 1', 2],
  ['a last row that was taken out', 'DELETE FROM audit_change WHERE number = 6', 'behind row 5 are missing'],
  [
    'a row that was put in',
    'INSERT INTO audit_change SELECT 7, replace(entry, \'"number":6\', \'"number":7\'), hash FROM audit_change WHERE number = 6',
    7,
  ],
  [
    'a time of recording that was changed, by which rows are found',
    "UPDATE audit_change SET entry = json_set(entry, '$.recorded_at', 5) WHERE number = 4",
    4,
  ],
  [
    'first rows taken out as if they had been dropped',
    `UPDATE chain SET dropped_number = 2, dropped_hash = (SELECT hash FROM audit_change WHERE number = 2);
     DELETE FROM audit_change WHERE number <= 2`,
    'up to row 2 were taken out',
  ],
  ['all rows taken out', 'DELETE FROM audit_change', 'behind row 0 are missing'],
  ['a chain that was taken out', 'DELETE FROM chain', 'behind row 6 are missing'],
])('finds %s', async (_, sql, found) => {
  await using setup = await openLog();
  for (let i = 1; i <= 6; i++) setup.log.record(change({ at: at + i, detail: `"${i}"` }));
  expect(await problemsOf(setup.log)).toEqual([]);
  await setup.log[Symbol.asyncDispose]();
  const db = new Database(setup.file);
  db.exec(sql.replaceAll('"3"', '\\"3\\"').replaceAll('"5"', '\\"5\\"'));
  db.close();
  const problem = expect.stringContaining(
    typeof found === 'number' ? `row ${found} of kind 'change' ` : found,
  );
  expect(verifyAuditLog(setup.file).problems).toEqual([problem]);
  await setup.reopen();
  expect(await problemsOf(setup.log)).toEqual([problem]);
  // It goes on, and what is recorded from now on does not hide the damage.
  setup.log.record(change());
  expect(await problemsOf(setup.log)).toHaveLength(1);
});

it('keeps what the disk did not take, and records how much it gave up', async () => {
  const errors: unknown[] = [];
  await using setup = await openLog({ onError: (error) => errors.push(error), now: () => at });
  const other = new Database(setup.file);
  other.pragma('busy_timeout = 0');
  other.exec('DROP TABLE chain');
  setup.log.record(change());
  for (let i = 1; i < 5000; i++) setup.log.record({ ...refusal(), merged: false, at: at + i });
  expect(errors.length).toBeGreaterThan(0);
  other.exec(
    'CREATE TABLE chain (kind TEXT PRIMARY KEY, dropped_number, dropped_hash, last_number, last_hash, row_count, bytes)',
  );
  other.close();
  const rows = await entriesOf(setup.log);
  expect(rows).toContainEqual(expect.objectContaining({ code: 'audit_events_lost', count: 5000 - 4096 }));
  expect(rows).toHaveLength(4097);
  expect(rows).toContainEqual(expect.objectContaining({ code: 'token_issued' }));
});

interface AuditSetup extends AsyncDisposable {
  readonly file: string;
  readonly log: AuditLog;
  reopen(): Promise<AuditLog>;
}

async function openLog(options: Omit<SqliteAuditLogOptions, 'file'> = {}): Promise<AuditSetup> {
  const directory = await tempDir();
  const file = join(directory.path, 'audit.db');
  const open = () => openSqliteAuditLog({ file, ...options });
  let log = await open();
  return {
    file,
    get log() {
      return log;
    },
    async reopen() {
      await log[Symbol.asyncDispose]();
      log = await open();
      return log;
    },
    async [Symbol.asyncDispose]() {
      await log[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}

function count(file: string): unknown {
  const db = new Database(file, { readonly: true });
  try {
    const tables = kinds.map((kind) => `SELECT number FROM audit_${kind}`).join(' UNION ALL ');
    return db.prepare(`SELECT count(*) FROM (${tables})`).pluck().get();
  } finally {
    db.close();
  }
}
