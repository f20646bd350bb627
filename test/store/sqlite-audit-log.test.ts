import { statSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AuditEvent,
  type AuditKind,
  type AuditLog,
  auditKinds,
  openSqliteAuditLog,
  type SqliteAuditLogOptions,
} from '@signalbox/store';
import { AuditChainCheck, verifyAuditLog } from '@signalbox/store/internal';
import { tempDir } from '@signalbox/testing';
import Database from 'better-sqlite3';
import { expect, it, vi } from 'vitest';

const minute = 60_000;
const at = 1_800_000_000_000;
const kinds = Object.keys(auditKinds) as AuditKind[];

function refusal(fields: Partial<AuditEvent> = {}): AuditEvent {
  return { kind: 'refusal', merged: true, at, code: 'forbidden', agent: 'ann', detail: '', ...fields };
}

function change(fields: Partial<AuditEvent> = {}): AuditEvent {
  return { kind: 'change', at, code: 'token_issued', agent: 'operator.alice', detail: '', ...fields };
}

function entriesOf(log: AuditLog, only: AuditKind[] = kinds, since = 0): Record<string, unknown>[] {
  return log.read({ since, kinds: only, limit: 100_000 }).map(({ entry }) => JSON.parse(entry));
}

it('counts the refusals of an agent under two roles apart, so that each row has the role and the rule of all that it counts', async () => {
  await using setup = await openLog();
  const { log } = setup;
  for (const role of ['reader', 'guest', 'reader', 'guest', 'guest'])
    log.record(refusal({ code: 'call_refused', name: 'mcp_a__b', role, facts: { rule: `roles.${role}` } }));
  const counts = entriesOf(log).map(({ role, rule, count = 1 }) => `${role} ${rule} ${count}`);
  expect(counts.toSorted()).toEqual([
    'guest roles.guest 1',
    'guest roles.guest 2',
    'reader roles.reader 1',
    'reader roles.reader 1',
  ]);
});

it('never merges changes, and counts refusals of one token, agent, code and name together', async () => {
  await using setup = await openLog();
  const { log } = setup;
  for (const name of ['a', 'b']) {
    log.record(refusal({ name, detail: 'first' }));
    log.record(refusal({ name, at: at + 1, detail: 'second' }));
    log.record(refusal({ name, at: at + 2, detail: 'third' }));
    log.record(change({ detail: 'the same' }));
  }
  expect(entriesOf(log, ['change'])).toMatchObject([{ detail: 'the same' }, { detail: 'the same' }]);
  expect(entriesOf(log, ['refusal'])).toMatchObject([
    { name: 'a', detail: 'first' },
    { name: 'b', detail: 'first' },
    { name: 'a', count: 2, at: at + 2, first_at: at + 1, detail: 'third' },
    { name: 'b', count: 2, at: at + 2, first_at: at + 1, detail: 'third' },
  ]);
});

it('tells few names of one agent apart at a time, and counts the others together', async () => {
  await using setup = await openLog();
  for (let i = 0; i < 1000; i++) setup.log.record(refusal({ name: `tool-${i}` }));
  setup.log.record(refusal({ agent: 'bob', name: 'tool-1000' }));
  const rows = entriesOf(setup.log);
  expect(rows.length).toBeLessThan(30);
  expect(rows.reduce((sum, { count = 1 }) => sum + Number(count), 0)).toBe(1001);
  expect(rows).toContainEqual(expect.objectContaining({ agent: 'ann', name: '(others)', count: 979 }));
  expect(rows).toContainEqual(expect.objectContaining({ agent: 'bob', name: 'tool-1000' }));
});

it('answers from a time on, page by page, in the order in which it recorded, whatever a clock does', async () => {
  let now = at;
  await using setup = await openLog({ now: () => now });
  for (let i = 0; i < 10; i++) {
    setup.log.record(
      i % 2 === 0 ? change({ detail: String(i) }) : { ...change({ detail: String(i) }), kind: 'call' },
    );
    // A query writes what waits.
    entriesOf(setup.log);
    now += minute;
  }
  const read = (since: number, limit: number, after = 0) => setup.log.read({ since, kinds, limit, after });
  const details = (rows: ReturnType<typeof read>) => rows.map(({ entry }) => JSON.parse(entry).detail);
  expect(details(read(at + 7 * minute, 10))).toEqual(['7', '8', '9']);
  expect(details(read(at + 7 * minute + 1, 10))).toEqual(['8', '9']);
  expect(details(read(at + 10 * minute, 10))).toEqual([]);
  const page = read(0, 2);
  expect(details(page)).toEqual(['0', '1']);
  expect(details(read(0, 2, page[1]!.number))).toEqual(['2', '3']);
  now = at - 1000 * minute;
  setup.log.record(change({ detail: 'after a step back' }));
  expect(details(read(at + 9 * minute, 10))).toEqual(['9', 'after a step back']);
  await setup.reopen();
  expect(details(read(at + 9 * minute, 10))).toEqual(['9', 'after a step back']);
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
    expect(String(entriesOf(await setup.reopen())[0]?.detail)).toHaveLength(500);
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

it('stays small in a flood of one kind, which pushes out no other; what is left is still a chain', async () => {
  const maxBytes = { refusal: 128 * 1024, change: 1024 };
  await using setup = await openLog({ maxBytes });
  const flood = 10_000;
  for (let i = 0; i < flood; i++) {
    if (i % 100 === 0) setup.log.record(change({ at: at + i, detail: String(i) }));
    setup.log.record(refusal({ at: at + i, agent: `agent-${i}`, detail: 'x'.repeat(100) }));
  }
  expect(entriesOf(setup.log, ['change'])).toHaveLength(100);
  expect(setup.log.usedPart('change')).toBeGreaterThan(1);
  const left = entriesOf(setup.log, ['refusal']);
  expect(left.at(-1)).toMatchObject({ agent: `agent-${flood - 1}` });
  expect(left.length).toBeGreaterThan(100);
  expect(left.length).toBeLessThan(600);
  await setup.reopen();
  expect(statSync(setup.file).size).toBeLessThan(400 * 1024);
  setup.log.record(refusal({ agent: 'later' }));
  expect(problemsOf(setup.log)).toEqual([]);
  const rows = entriesOf(setup.log).length;
  await setup.log[Symbol.asyncDispose]();
  expect(verifyAuditLog(setup.file)).toEqual({ problems: [], rows });
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
  expect(problemsOf(setup.log)).toEqual([]);
  await setup.log[Symbol.asyncDispose]();
  const db = new Database(setup.file);
  db.exec(sql.replaceAll('"3"', '\\"3\\"').replaceAll('"5"', '\\"5\\"'));
  db.close();
  const problem = expect.stringContaining(
    typeof found === 'number' ? `row ${found} of kind 'change' ` : found,
  );
  expect(verifyAuditLog(setup.file).problems).toEqual([problem]);
  await setup.reopen();
  expect(problemsOf(setup.log)).toEqual([problem]);
  // It goes on, and what is recorded from now on does not hide the damage.
  setup.log.record(change());
  expect(problemsOf(setup.log)).toHaveLength(1);
});

it('records a batch whole, and once however often it is reported', async () => {
  await using setup = await openLog();
  const calls = ['r1', 'r2'].map(
    (id): AuditEvent => ({ kind: 'call', at, code: 'call_ended', detail: '', facts: { request_id: id } }),
  );
  expect(setup.log.recordBatch({ from: 'orchestrator', id: 'b1' }, calls)).toBe(true);
  expect(setup.log.recordBatch({ from: 'orchestrator', id: 'b1' }, calls)).toBe(false);
  await setup.reopen();
  expect(setup.log.recordBatch({ from: 'orchestrator', id: 'b1' }, calls)).toBe(false);
  expect(setup.log.recordBatch({ from: 'other', id: 'b1' }, calls.slice(1))).toBe(true);
  expect(entriesOf(setup.log).map(({ request_id }) => request_id)).toEqual(['r1', 'r2', 'r2']);
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
  const rows = entriesOf(setup.log);
  expect(rows).toContainEqual(expect.objectContaining({ code: 'audit_events_lost', count: 5000 - 4096 }));
  expect(rows).toHaveLength(4097);
  expect(rows).toContainEqual(expect.objectContaining({ code: 'token_issued' }));
});

/** Checks every chain as an operator does. */
function problemsOf(log: AuditLog): string[] {
  return kinds.flatMap((kind) => {
    const check = new AuditChainCheck();
    for (;;) {
      const { rows, chain } = log.readChain(kind, check.after, 100);
      const problem = check.check(rows, chain, rows.length < 100);
      if (problem !== undefined) return [problem];
      if (rows.length < 100) return [];
    }
  });
}

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
