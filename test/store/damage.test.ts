import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Damage, type InboxStats, openSqliteInboxStore, steadyTime } from '@signalbox/store';
import { verifyInboxStore } from '@signalbox/store/internal';
import { tempDir } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { messageOf, writeFiles } from '../support/store/damage.ts';
import { edit, select, startedAt } from '../support/store/test-store.ts';

const room = { memtableMessages: 60, segmentMessages: 16, reserveBytes: 4096 };

describe('Rows that say what messages do not', () => {
  const times = { createdAt: startedAt, expiresAt: startedAt + 1e9, openUntil: startedAt + 1e9 };
  const ask = { senderAddress: 'ann', senderRole: 'worker', kind: 'ask', body: '1', ...times };

  it('are counted again, closed or foreign where they are damaged, and are reported', async () => {
    await using directory = await tempDir();
    const file = join(directory.path, 'messages.db');
    const reports: string[] = [];
    let monotonic = 0;
    const open = () =>
      openSqliteInboxStore({
        ...room,
        memtableMessages: 2,
        retentionMs: 1,
        dedupeWindowMs: 1,
        file,
        durability: 'process',
        now: () => startedAt,
        monotonic: () => monotonic,
        onDamage: ({ what, detail }) => void reports.push(`${what}: ${detail}`),
      });
    const key = (id: string) => ({ requester: 'ann', id, replier: 'bob', replierAddress: 'bob' });
    const claim = { previous: [], next: 'one' };
    let before: InboxStats;
    {
      await using store = await open();
      const ids = Array.from({ length: 20 }, (_, n) => `r-${n}`);
      const messages = ids.map((id) => ({ ...ask, inbox: 'bob', sender: 'ann', id }));
      const appended = await store.commit({ messages, attempts: [], settlements: [] });
      const settlements = appended
        .slice(0, 10)
        .flatMap((one) =>
          one.result === 'stored' ? [{ inbox: 'bob', seq: one.seq, outcome: 'acked' } as const] : [],
        );
      await store.commit({ messages: [], attempts: [], settlements });
      for (const id of ['x', 'y', 'z']) {
        const message = { ...ask, inbox: 'eve', sender: 'kim', id };
        await store.commit({ messages: [message], attempts: [], settlements: [] });
      }
      for (let step = 0; step < 3; step++) {
        monotonic += 1_000_000;
        await store.sweep(steadyTime(startedAt + 1000));
      }
      await store.bindJournal('bob', claim);
      expect((await store.bindJournal('bob', { previous: ['one'], next: 'one' })).foreignUpTo).toBe(0);
      before = await store.stats('bob');
      expect(before.pending).toBe(10);
      expect(await store.requestState(key('r-0'))).toBe('open');
    }
    expect(select(file, 'SELECT * FROM open_request').length).toBeGreaterThan(2);
    expect(select(file, 'SELECT * FROM pending_count')).not.toEqual([]);
    edit(
      file,
      `UPDATE pending_count SET bytes = bytes + 256, pending = pending + 16;
       UPDATE open_request SET open_until = open_until + 4096 WHERE id = 'r-0';
       UPDATE journal SET foreign_up_to = 0, generation = 'two'`,
    );
    expect((await verifyInboxStore(file)).problems.map((text) => text.replace(/\d+/, 'n'))).toEqual([
      "the journal of 'bob' is damaged",
      'n counts of pending messages are damaged',
      'n rows of open requests are damaged',
    ]);
    {
      await using store = await open();
      expect(reports.map((text) => text.split(':')[0]).sort()).toEqual(['count', 'journal', 'request']);
      expect(await store.stats('bob')).toEqual(before);
      expect(await store.requestState(key('r-0'))).toBe('over');
      expect(await store.requestState(key('r-1'))).toBe('open');
      const bound = await store.bindJournal('bob', { previous: ['two'], next: 'three' });
      expect(bound).toEqual({ foreignUpTo: before.headSeq, epoch: 'three' });
    }
    reports.splice(0);
    expect((await verifyInboxStore(file)).problems).toEqual([]);
    await (await open())[Symbol.asyncDispose]();
    expect(reports).toEqual([]);
  });

  it('are counted again while the store is open', async () => {
    await using directory = await tempDir();
    const file = join(directory.path, 'messages.db');
    const reports: string[] = [];
    const onDamage = ({ detail }: Damage) => void reports.push(detail);
    await using store = await openSqliteInboxStore({
      ...room,
      memtableMessages: 2,
      file,
      durability: 'process',
      now: () => startedAt,
      onDamage,
    });
    const put = async (ids: string[]) => {
      const messages = ids.map((id) => ({ ...ask, inbox: 'bob', sender: 'ann', id }));
      const appended = await store.commit({ messages, attempts: [], settlements: [] });
      expect(appended.every(({ result }) => result === 'stored')).toBe(true);
    };
    await put(['a', 'b', 'c', 'd']);
    edit(file, 'UPDATE pending_count SET pending = pending + 16');
    await put(['e', 'f', 'g', 'h']);
    expect(reports).toEqual([expect.stringContaining('counts of pending messages were damaged')]);
    expect((await store.stats('bob')).pending).toBe(8);
    expect((await verifyInboxStore(file)).problems).toEqual([]);
  });
});

describe('A store whose log was cut although it has durability process', () => {
  /** Opens a store that was killed and has lost its log, in this boot of the machine. */
  async function openCut(boot: string): Promise<{ error?: unknown; reports: string[]; left?: number }> {
    await using directory = await tempDir();
    const file = join(directory.path, 'messages.db');
    const reports: string[] = [];
    const onDamage = ({ detail }: Damage) => void reports.push(detail);
    const options = { ...room, file, durability: 'process', now: () => startedAt, onDamage } as const;
    const files = new Map<string, Buffer>();
    {
      await using store = await openSqliteInboxStore({ ...options, boot: 'one' });
      await store.commit({ messages: [messageOf(0, 0)], attempts: [], settlements: [] });
      files.set('', readFileSync(file));
      await store.commit({ messages: [messageOf(0, 1)], attempts: [], settlements: [] });
      await store.sweep(steadyTime(startedAt));
      files.set('.mark', readFileSync(`${file}.mark`));
    }
    rmSync(file);
    writeFiles(file, files);
    try {
      await using store = await openSqliteInboxStore({ ...options, boot });
      return { reports, left: (await store.stats('bob')).pending };
    } catch (error) {
      return { error, reports };
    }
  }

  it('is refused in the same boot, since kill -9 keeps what was written', async () => {
    expect(await openCut('one')).toEqual({
      error: expect.objectContaining({
        code: 'store_damaged',
        message: expect.stringMatching(/has lost its last \d commits? .*--accept-loss/),
      }),
      reports: [],
    });
  });

  it.each(['two', 'unknown'])(
    'is opened and reported where the machine may have restarted: boot %s',
    async (boot) => {
      const lost = expect.stringMatching(
        /has lost its last \d commits? .* not synced when the machine stopped/,
      );
      expect(await openCut(boot)).toEqual({ reports: [lost], left: 0 });
    },
  );
});
