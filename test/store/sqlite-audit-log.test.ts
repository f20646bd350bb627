import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type AuditLog, openSqliteAuditLog } from '@signalbox/store';
import { tempDir } from '@signalbox/testing';
import Database from 'better-sqlite3';
import { expect, it, vi } from 'vitest';

const minute = 60_000;
const at = 1_800_000_000_000;

it('counts the events of one token, agent and code per minute, over a restart too', async () => {
  await using setup = await openLog();
  const event = { tokenId: 't', agent: 'ann', code: 'forbidden' };
  setup.log.record({ ...event, at, detail: 'first' });
  setup.log.record({ ...event, at: at + 2, detail: 'second' });
  const log = await setup.reopen();
  log.record({ ...event, at: at + 1, detail: 'third' });
  log.record({ ...event, at: at + minute, detail: 'next minute' });
  log.record({ at: at + minute, code: 'unauthorized', detail: 'nobody' });
  const first = { minute: at, count: 3, firstAt: at, lastAt: at + 2, detail: 'third' };
  const next = { minute: at + minute, count: 1, firstAt: at + minute, lastAt: at + minute };
  expect(await log.query(0, 10)).toEqual([
    { ...event, ...first },
    { code: 'unauthorized', ...next, detail: 'nobody' },
    { ...event, ...next, detail: 'next minute' },
  ]);
});

it('answers from a time on, oldest first, up to a limit', async () => {
  await using setup = await openLog();
  for (let i = 9; i >= 0; i--) setup.log.record({ at: at + i * minute, code: 'refused', detail: String(i) });
  const details = async (since: number, limit: number) =>
    (await setup.log.query(since, limit)).map(({ detail }) => detail);
  expect(await details(at + 7 * minute, 10)).toEqual(['7', '8', '9']);
  expect(await details(at + 7 * minute + 1, 10)).toEqual(['8', '9']);
  expect(await details(0, 2)).toEqual(['0', '1']);
});

it('cuts a long detail', async () => {
  await using setup = await openLog();
  setup.log.record({ at, code: 'refused', detail: 'x'.repeat(501) });
  expect((await setup.log.query(0, 1))[0]?.detail).toBe('x'.repeat(500));
});

it('is on disk within a second, without anybody asking', async () => {
  vi.useFakeTimers();
  try {
    await using setup = await openLog();
    setup.log.record({ at, code: 'refused', detail: '' });
    const rows = () => count(setup.file);
    expect(rows()).toBe(0);
    vi.advanceTimersByTime(1000);
    expect(rows()).toBe(1);
    setup.log.record({ at: at + minute, code: 'refused', detail: '' });
    vi.advanceTimersByTime(1000);
    expect(rows()).toBe(2);
  } finally {
    vi.useRealTimers();
  }
});

it('stays small in a flood, and keeps the newest', async () => {
  await using setup = await openLog(256 * 1024);
  const flood = 20_000;
  for (let i = 0; i < flood; i++) {
    setup.log.record({ at: at + i * 1000, agent: `agent-${i}`, code: 'refused', detail: 'x'.repeat(100) });
  }
  const rows = await setup.log.query(0, flood);
  expect(rows.at(-1)).toMatchObject({ agent: `agent-${flood - 1}` });
  expect(rows.length).toBeGreaterThan(500);
  await setup.reopen();
  expect(statSync(setup.file).size).toBeLessThan(600 * 1024);
});

interface AuditSetup extends AsyncDisposable {
  readonly file: string;
  readonly log: AuditLog;
  reopen(): Promise<AuditLog>;
}

async function openLog(maxBytes?: number): Promise<AuditSetup> {
  const directory = await tempDir();
  const file = join(directory.path, 'audit.db');
  const open = () => openSqliteAuditLog({ file, ...(maxBytes !== undefined && { maxBytes }) });
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
    return db.prepare('SELECT count(*) FROM audit').pluck().get();
  } finally {
    db.close();
  }
}
