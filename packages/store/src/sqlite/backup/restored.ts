import type Database from 'better-sqlite3';
import { closeDatabase, openDatabase } from '../database.ts';
import { inboxSchema } from '../inbox-store/inbox-schema.ts';
import { forgetJournals } from '../inbox-store/journal-table.ts';
import { MetaTable } from '../inbox-store/meta-table.ts';
import { tokenSchema } from '../token-store.ts';

/**
 * Makes another broker's store of a restored one: it gets a new id, and what waits in it is foreign to every journal. Returns the id.
 * Throws a `StoreError`.
 */
export function claimRestoredStore(file: string, now: number): string {
  return change(file, inboxSchema, (db) => {
    const identity = new MetaTable(db).newIdentity();
    forgetJournals(db, now);
    return identity;
  });
}

/**
 * Drops the tokens of a restored store that were issued by other tokens, and with `agents` all but the operator's. Returns how many it
 * dropped and left. Throws a `StoreError`.
 */
export function dropRestoredTokens(
  file: string,
  { agents }: { agents: boolean },
): { dropped: number; left: number } {
  return change(file, tokenSchema, (db) => {
    const children = db.prepare('DELETE FROM token WHERE parent_id IS NOT NULL').run().changes;
    const others = agents
      ? db.prepare(`DELETE FROM token WHERE permissions NOT LIKE '%"operator"%'`).run().changes
      : 0;
    const left = db.prepare<[], number>('SELECT COUNT(*) FROM token').pluck().get() ?? 0;
    return { dropped: children + others, left };
  });
}

function change<T>(file: string, schema: string, run: (db: Database.Database) => T): T {
  return openDatabase({ file, synchronous: 'full', schema }, (db) => {
    try {
      return db.transaction(() => run(db))();
    } finally {
      closeDatabase(db);
    }
  });
}
