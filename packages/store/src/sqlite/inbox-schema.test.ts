import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openDatabase } from './database.ts';
import { inboxMigrations } from './inbox-schema.ts';
import { openSqliteInboxStore } from './inbox-store.ts';

it('brings a database of the first version up to date, with its messages', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-schema-'));
  try {
    const file = join(directory, 'messages.db');
    openDatabase({ file, synchronous: 'normal', migrations: inboxMigrations.slice(0, 1) }, (db) => {
      db.exec(
        `INSERT INTO message VALUES (7, 'inbox', 'old', 'ann', 'ann', 'worker', 'note', NULL, NULL, 1, 2, 0, 4, 'body')`,
      );
      db.exec(`UPDATE meta SET value = 10 WHERE key = 'seq_reserved'`);
      db.close();
    });
    await using store = await openSqliteInboxStore({ file, durability: 'process' });
    const from = { sender: 'ann', senderAddress: 'ann', senderRole: 'worker' };
    const request = { inbox: 'inbox', id: 'new', ...from, kind: 'mcp_request', createdAt: 1, expiresAt: 2 };
    await store.commit({ messages: [{ ...request, tokenId: 't' }], settlements: [], attempts: [] });
    expect(await store.read('inbox', 0, 9, 1000)).toMatchObject([
      { seq: 7, id: 'old', body: 'body' },
      { id: 'new' },
    ]);
    expect(await store.sentWith('t', 9)).toMatchObject([{ id: 'new' }]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

it('takes over what was recent, and what had left its record for the table before the others', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-schema-'));
  try {
    const file = join(directory, 'messages.db');
    openDatabase({ file, synchronous: 'normal', migrations: inboxMigrations.slice(0, 6) }, (db) => {
      const like = ['like', 'inbox', 'ann', 'ann', 'worker', null, 'note', 1, 9e15];
      const entries = [like, [7, 4, 4, 'a'], [8, 4, 4, 'b'], ['moved', 'inbox', 7]];
      db.prepare('INSERT INTO record VALUES (1, ?, ?)').run(JSON.stringify(entries), 'bodyself');
      db.exec(
        `INSERT INTO message VALUES (7, 'inbox', 'a', 'ann', 'ann', 'worker', 'note', NULL, NULL, 1, 9e15, 0, 4, 'body', NULL);
         INSERT INTO inbox_count VALUES ('inbox', 'ann', 1, 4);
         UPDATE meta SET value = 10 WHERE key = 'seq_reserved'`,
      );
      db.close();
    });
    for (let start = 0; start < 2; start++) {
      await using store = await openSqliteInboxStore({ file, durability: 'process' });
      expect(await store.stats('inbox')).toEqual({ pending: 2, bytes: 8, headSeq: 8 });
      expect(await store.read('inbox', 0, 9, 1000)).toMatchObject([
        { seq: 7, id: 'a', body: 'body' },
        { seq: 8, id: 'b', body: 'self' },
      ]);
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
});
