import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type NewMessage,
  type Outcome,
  openSqliteInboxStore,
  type SqliteInboxStoreOptions,
} from '@signalbox/store';
import { inboxStoreConformance, type StoreUnderTest } from '@signalbox/store/conformance';
import { tempDir } from '@signalbox/testing';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';

const hour = 60 * 60 * 1000;
const startedAt = 1_800_000_000_000;

// With room for two recent messages nearly every one goes through the tables; by default none of so few does.
for (const [name, options] of [
  ['SQLite with durability full', { durability: 'full' }],
  ['SQLite with durability process', { durability: 'process' }],
  ['SQLite where messages age at once', { recentMessages: 2 }],
] as const) {
  inboxStoreConformance(name, (caps) => openStore({ ...options, ...(caps && { caps }) }));
}

describe('The SQLite inbox store', () => {
  it('says what a receipt means', async () => {
    await using full = await openStore({ durability: 'full' });
    await using process = await openStore({ durability: 'process' });
    expect(full.store.caps.receiptMeans).toBe('fsynced');
    expect(process.store.caps.receiptMeans).toBe('written');
    expect(full.store.dedupeWindowMs).toBe(600_000);
  });

  it('keeps its file from other users', async () => {
    await using setup = await openStore();
    for (const file of [setup.file, `${setup.file}-wal`]) expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('refuses a file that is no database, or a damaged one, and says how to recover it', async () => {
    await using directory = await tempDir();
    const file = join(directory.path, 'messages.db');
    writeFileSync(file, 'not a database, but long enough to be read as the header of one, surely'.repeat(20));
    const refused = openSqliteInboxStore({ file, durability: 'full' });
    await expect(refused).rejects.toMatchObject({
      code: 'store_corrupt',
      message: expect.stringContaining('.recover'),
    });
  });

  it('refuses a file that was cut short', async () => {
    await using setup = await openStore();
    await commit(
      setup,
      Array.from({ length: 200 }, (_, i) => message(`id-${i}`)),
    );
    await setup.store[Symbol.asyncDispose]();
    const whole = readFileSync(setup.file);
    writeFileSync(setup.file, whole.subarray(0, whole.length / 2));
    await expect(setup.reopen()).rejects.toMatchObject({ code: 'store_corrupt' });
    writeFileSync(setup.file, whole);
    expect(await (await setup.reopen()).stats('inbox')).toMatchObject({ pending: 200 });
  });

  it('refuses a file of a newer version', async () => {
    await using setup = await openStore();
    await setup.store[Symbol.asyncDispose]();
    const [version] = select(setup.file, 'PRAGMA user_version') as { user_version: number }[];
    edit(setup.file, 'PRAGMA user_version = 99');
    await expect(setup.reopen()).rejects.toMatchObject({ code: 'store_too_new' });
    edit(setup.file, `PRAGMA user_version = ${version!.user_version}`);
    expect(await (await setup.reopen()).identity()).toMatch(/^[0-9a-f]{32}$/);
  });

  it('drops settled messages by age, page by page', async () => {
    await using setup = await openStore({ retentionMs: 5 * hour });
    for (let i = 0; i < 10; i++) {
      await settle(setup, await commit(setup, [message(`id-${i}`)]));
      setup.advance(hour);
      await setup.store.sweep(setup.now());
    }
    const remembered = [];
    for (let i = 0; i < 10; i++)
      remembered.push((await setup.store.find('inbox', 'ann', `id-${i}`)) !== undefined);
    expect(remembered).toEqual([false, false, false, false, false, false, true, true, true, true]);
    expect(pages(setup.file)).toHaveLength(4);
  });

  it('drops settled messages by size, but never within the dedupe window', async () => {
    await using setup = await openStore({ recentMessages: 10, retentionBytes: 5000 });
    const fill = async (round: number) => {
      await settle(
        setup,
        await commit(
          setup,
          Array.from({ length: 20 }, (_, i) => message(`${round}-${i}`)),
        ),
      );
      await setup.store.sweep(setup.now());
    };
    for (let round = 0; round < 10; round++) await fill(round);
    expect(pages(setup.file)).toHaveLength(10);
    setup.advance(setup.store.dedupeWindowMs);
    for (let step = 0; step < 20; step++) await setup.store.sweep(setup.now());
    const left = pages(setup.file);
    expect(left.length).toBeGreaterThan(0);
    expect(left.length).toBeLessThan(5);
    expect(await setup.store.find('inbox', 'ann', '0-0')).toBeUndefined();
    expect(await setup.store.find('inbox', 'ann', '9-0')).toMatchObject({ outcome: 'acked' });
  });

  it('drops the oldest dead letters beyond a number or a size, and keeps those within', async () => {
    await using few = await openStore({ deadLetters: { maxCount: 3 } });
    await using small = await openStore({ deadLetters: { maxBytes: 12 } });
    for (const [setup, kept] of [
      [few, ['c', 'd', 'e']],
      [small, ['d', 'e']],
    ] as const) {
      const seqs = await commit(setup, ['a', 'b', 'c', 'd', 'e'].map(message));
      const settlements = seqs.map((seq) => ({ inbox: 'inbox', seq, outcome: 'dead' as const }));
      await setup.store.commit({ messages: [], settlements, attempts: [] });
      const dropped = await setup.store.dead.trim(setup.now());
      const left = (await setup.store.dead.list(undefined, 0, 9)).map(({ id }) => id);
      expect(left).toEqual(kept);
      expect([...dropped.map(({ id }) => id), ...left]).toEqual(['a', 'b', 'c', 'd', 'e']);
      expect(await setup.store.dead.trim(setup.now())).toEqual([]);
    }
  });

  it('keeps a dead message whole, with the reason', async () => {
    await using setup = await openStore();
    const [seq] = await commit(setup, [message('a')]);
    await setup.store.commit({
      messages: [],
      settlements: [{ inbox: 'inbox', seq: seq!, outcome: 'dead', reason: 'tried five times' }],
      attempts: [{ inbox: 'inbox', seq: seq!, attempts: 5 }],
    });
    expect(select(setup.file, 'SELECT seq, id, body, reason FROM dead_letter')).toEqual([
      { seq, id: 'a', body: '"body"', reason: 'tried five times' },
    ]);
    expect(select(setup.file, 'SELECT * FROM message')).toEqual([]);
  });

  it.each([2000, 40, 0])(
    'takes a dead letter back once, but not beside another message of its id, with %d recent ones',
    async (recentMessages) => {
      await using setup = await openStore({ recentMessages });
      const buried = { ...message('a'), body: '"dead 😀"', correlationId: 'c' };
      const [seq] = await commit(setup, [buried]);
      await settle(setup, [seq!], 'dead');
      const { body: _, ...metadata } = buried;
      const letter = {
        ...metadata,
        seq,
        attempts: 0,
        size: 11,
        deadAt: startedAt,
        reason: 'no reason given',
      };
      expect(await setup.store.dead.find(seq!)).toEqual({ ...letter, body: buried.body });
      expect(await setup.store.find('inbox', 'ann', 'a')).toMatchObject({ seq, outcome: 'dead' });
      for (let step = 0; step < 3; step++) {
        setup.advance(24 * hour);
        await setup.store.sweep(setup.now());
      }
      const [other] = await commit(setup, [message('a')]);
      const { dead } = await setup.reopen();
      expect(await dead.retry(seq!, setup.now())).toEqual({ result: 'id_conflict' });
      expect(await dead.list('inbox', 0, 9)).toEqual([letter]);
      await settle(setup, [other!]);
      expect(await dead.retry(seq!, setup.now())).toMatchObject({ result: 'stored' });
      expect(await dead.retry(seq!, setup.now())).toEqual({ result: 'unknown' });
      expect(await setup.store.read('inbox', 0, 9, 1e6)).toMatchObject([{ id: 'a', body: buried.body }]);
      const [again] = await setup.store.read('inbox', 0, 9, 1e6);
      await settle(setup, [again!.seq], 'dead');
      expect(await dead.drop(again!.seq)).toBe(true);
      expect(await dead.list(undefined, 0, 9)).toEqual([]);
      expect(await setup.store.stats('inbox')).toMatchObject({ pending: 0, bytes: 0 });
    },
  );

  it('counts what waits in the table and what is recent, and leaves no count when all is settled', async () => {
    await using setup = await openStore({ recentMessages: 40 });
    const sent: Record<string, number[]> = { inbox: [], other: [] };
    const send = async (from: number, count: number, inbox: string) => {
      const messages = Array.from({ length: count }, (_, i) => ({
        ...message(`${inbox}-${from + i}`),
        inbox,
        sender: i % 3 === 0 ? 'bob' : 'ann',
      }));
      sent[inbox]!.push(...(await commit(setup, messages)));
    };
    const expectCounted = async () => {
      for (const [inbox, seqs] of Object.entries(sent)) {
        const stats = { pending: seqs.length, bytes: 6 * seqs.length, headSeq: seqs.at(-1) ?? 0 };
        expect(await setup.store.stats(inbox)).toEqual(stats);
      }
      expect(select(setup.file, 'SELECT * FROM inbox_count ORDER BY inbox, sender')).toEqual(
        select(
          setup.file,
          'SELECT inbox, sender, count(*) AS pending, sum(size) AS bytes FROM message GROUP BY inbox, sender',
        ),
      );
    };
    await send(0, 25, 'inbox');
    await send(0, 8, 'other');
    await expectCounted();
    await setup.reopen();
    await send(25, 5, 'inbox');
    await expectCounted();
    expect(select(setup.file, 'SELECT sum(pending) AS rows FROM inbox_count')).toEqual([{ rows: 25 }]);
    await settle(setup, sent.inbox!.splice(3, 24));
    await expectCounted();
    await setup.reopen();
    await expectCounted();
    for (const [inbox, seqs] of Object.entries(sent)) await settle(setup, seqs.splice(0), 'acked', inbox);
    await expectCounted();
    await setup.reopen();
    await expectCounted();
    expect(select(setup.file, 'SELECT * FROM inbox_count')).toEqual([]);
  });

  it('recognises each id in many pages, whatever the ids look like, until the oldest pages go', async () => {
    const minute = 60_000;
    const rounds = 150;
    await using setup = await openStore({ recentMessages: 10, retentionMs: 100 * minute });
    const idOf = (i: number) => (Math.imul(i + 1, 0x9e3779b1) >>> 0).toString(36);
    const outcomeOf = async (i: number) => (await setup.store.find('inbox', 'ann', idOf(i)))?.outcome;
    const results = async (from: number, to: number, by: number) => {
      const ids = Array.from({ length: Math.ceil((to - from) / by) }, (_, i) => idOf(from + i * by));
      const batch = { messages: ids.map(message), settlements: [], attempts: [] };
      return new Set((await setup.store.commit(batch)).map(({ result }) => result));
    };
    // A page for each minute.
    for (let round = 0; round < rounds; round++) {
      setup.advance(minute);
      const ids = Array.from({ length: 12 }, (_, i) => idOf(12 * round + i));
      await settle(setup, await commit(setup, ids.map(message)));
    }
    expect(pages(setup.file).length).toBeGreaterThan(2 * 64);
    for (const isReopened of [false, true]) {
      const store = isReopened ? await setup.reopen() : setup.store;
      expect(await results(0, 12 * rounds, 5)).toEqual(new Set(['duplicate']));
      const unknown = Array.from({ length: 300 }, (_, i) =>
        store.find('inbox', 'ann', idOf(12 * rounds + i)),
      );
      expect(new Set(await Promise.all(unknown))).toEqual(new Set([undefined]));
    }
    const before = pages(setup.file);
    for (let step = 0; step < 20; step++) await setup.store.sweep(setup.now());
    const left = pages(setup.file);
    expect(left).toEqual(before.slice(-left.length));
    const gone = 12 * (rounds - 103);
    const kept = 12 * (rounds - 99);
    for (let i = 0; i < gone; i += 7) expect(await outcomeOf(i), `${i}`).toBeUndefined();
    expect(await results(kept, 12 * rounds, 5)).toEqual(new Set(['duplicate']));
    expect(await results(0, gone, 12)).toEqual(new Set(['stored']));
  });

  it('rejects what it is asked after it was closed', async () => {
    await using setup = await openStore();
    await setup.store[Symbol.asyncDispose]();
    await expect(setup.store.stats('inbox')).rejects.toMatchObject({ code: 'store_failed' });
    await expect(commit(setup, [message('a')])).rejects.toMatchObject({ code: 'store_failed' });
  });
});

async function openStore(
  options: Partial<SqliteInboxStoreOptions> = {},
): Promise<StoreUnderTest & { readonly file: string }> {
  const directory = await tempDir();
  const file = join(directory.path, 'messages.db');
  let clock = startedAt;
  const now = () => clock;
  const open = () => openSqliteInboxStore({ durability: 'process', now, ...options, file });
  let store = await open();
  return {
    file,
    get store() {
      return store;
    },
    async reopen() {
      await store[Symbol.asyncDispose]();
      store = await open();
      return store;
    },
    advance: (ms) => {
      clock += ms;
    },
    now,
    forgottenAfterMs: 24 * hour,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}

function message(id: string): NewMessage {
  const sender = { sender: 'ann', senderAddress: 'ann', senderRole: 'worker' };
  const times = { createdAt: startedAt, expiresAt: startedAt + 1000 * hour };
  return { inbox: 'inbox', id, ...sender, kind: 'note', ...times, body: '"body"' };
}

/** Sequence numbers of the messages, all of which must be stored. */
async function commit({ store }: StoreUnderTest, messages: NewMessage[]): Promise<number[]> {
  const appended = await store.commit({ messages, settlements: [], attempts: [] });
  return appended.map((one) => (one.result === 'stored' ? one.seq : expect.fail(one.result)));
}

async function settle(
  { store }: StoreUnderTest,
  seqs: number[],
  outcome: Outcome = 'acked',
  inbox = 'inbox',
): Promise<void> {
  const settlements = seqs.map((seq) => ({ inbox, seq, outcome }));
  await store.commit({ messages: [], settlements, attempts: [] });
}

function pages(file: string): unknown[] {
  return select(file, 'SELECT number FROM settled_page');
}

function select(file: string, sql: string): unknown[] {
  const db = new Database(file, { readonly: true });
  try {
    return db.prepare(sql).all();
  } finally {
    db.close();
  }
}

function edit(file: string, sql: string): void {
  const db = new Database(file);
  try {
    db.exec(sql);
  } finally {
    db.close();
  }
}
