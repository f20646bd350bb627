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
