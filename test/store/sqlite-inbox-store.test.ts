import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteInboxStore, steadyTime } from '@signalbox/store';
import { inboxStoreConformance } from '@signalbox/store/conformance';
import { tempDir } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import {
  commit,
  edit,
  hour,
  message,
  openStore,
  select,
  settle,
  settledSegments,
} from '../support/store/test-store.ts';

// With room for two messages in the memtable nearly every one goes through segments; by default none of so few does. Other sizes, and the
// durabilities: sqlite-inbox-store.long.test.ts.
inboxStoreConformance('SQLite with a small memtable', (caps, keepBodies) =>
  openStore({ memtableMessages: 2, keepBodies, ...(caps && { caps }) }),
);

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

  it.each([1, 99])('refuses a file of version %i, and names both versions', async (other) => {
    await using setup = await openStore();
    await setup.store[Symbol.asyncDispose]();
    const [version] = select(setup.file, 'PRAGMA user_version') as { user_version: number }[];
    edit(setup.file, `PRAGMA user_version = ${other}`);
    await expect(setup.reopen()).rejects.toMatchObject({
      code: 'store_other_version',
      message: expect.stringContaining(
        `has version ${other} of the format, and this Signalbox reads version ${version!.user_version}`,
      ),
    });
    edit(setup.file, `PRAGMA user_version = ${version!.user_version}`);
    expect(await (await setup.reopen()).identity()).toMatch(/^[0-9a-f]{32}$/);
  });

  it('drops settled messages by age, segment by segment', async () => {
    await using setup = await openStore({ retentionMs: 5 * hour });
    for (let i = 0; i < 10; i++) {
      await settle(setup, await commit(setup, [message(`id-${i}`)]));
      setup.advance(hour);
      await setup.store.sweep(steadyTime(setup.now()));
    }
    const remembered = [];
    for (let i = 0; i < 10; i++)
      remembered.push((await setup.store.find('inbox', 'ann', `id-${i}`)) !== undefined);
    expect(remembered).toEqual([false, false, false, false, false, false, true, true, true, true]);
    expect(settledSegments(setup.file)).toHaveLength(4);
  });

  it('drops settled messages by size, but never within the dedupe window', async () => {
    await using setup = await openStore({ memtableMessages: 10, retentionBytes: 2500 });
    const fill = async (round: number) => {
      await settle(
        setup,
        await commit(
          setup,
          Array.from({ length: 20 }, (_, i) => message(`${round}-${i}`)),
        ),
      );
      await setup.store.sweep(steadyTime(setup.now()));
    };
    for (let round = 0; round < 10; round++) await fill(round);
    expect(settledSegments(setup.file)).toHaveLength(10);
    setup.advance(setup.store.dedupeWindowMs);
    for (let step = 0; step < 20; step++) await setup.store.sweep(steadyTime(setup.now()));
    const left = settledSegments(setup.file);
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
      const dropped = await setup.store.dead.trim(steadyTime(setup.now()));
      const left = (await setup.store.dead.list(undefined, 0, 9)).map(({ id }) => id);
      expect(left).toEqual(kept);
      expect([...dropped.map(({ id }) => id), ...left]).toEqual(['a', 'b', 'c', 'd', 'e']);
      expect(await setup.store.dead.trim(steadyTime(setup.now()))).toEqual([]);
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
    expect(await setup.store.dead.find(seq!)).toMatchObject({
      seq,
      id: 'a',
      body: '"body"',
      attempts: 5,
      reason: 'tried five times',
    });
    expect(await setup.store.read('inbox', 0, 9, 1e6)).toEqual([]);
  });

  it('rejects what it is asked after it was closed', async () => {
    await using setup = await openStore();
    await setup.store[Symbol.asyncDispose]();
    await expect(setup.store.stats('inbox')).rejects.toMatchObject({ code: 'store_failed' });
    await expect(commit(setup, [message('a')])).rejects.toMatchObject({ code: 'store_failed' });
  });
});
