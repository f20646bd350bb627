import type Database from 'better-sqlite3';
import { closeDatabase, openDatabase } from '../database.ts';
import { DurableMark, markFile } from '../inbox-store/durable-mark.ts';
import { inboxSchema } from '../inbox-store/inbox-schema.ts';
import { forgetJournals } from '../inbox-store/journal-table.ts';
import { MetaTable } from '../inbox-store/meta-table.ts';
import { lastCommitOf } from '../inbox-store/wal-recovery.ts';
import { tokenSchema } from '../token-store.ts';

/**
 * Turns a restored store into that of another broker: it gets a new id and a mark of its own, and its pending messages become foreign to
 * every journal. Returns the id and the file of the mark. Throws a `StoreError`.
 */
export function claimRestoredStore(file: string, now: number): { identity: string; mark: string } {
  const identity = change(file, inboxSchema, (db) => {
    forgetJournals(db, now);
    return new MetaTable(db).newIdentity();
  });
  const mark = markFile(file);
  const handle = new DurableMark(mark);
  handle.start({ identity, commit: lastCommitOf(file) });
  handle.close();
  return { identity, mark };
}

/**
 * Removes the tokens of a restored store that other tokens issued, or with `all` every token: any of them may have been revoked since the
 * backup. Returns the numbers of removed and remaining tokens. Throws a `StoreError`.
 */
export function dropRestoredTokens(
  file: string,
  { all }: { all: boolean },
): { dropped: number; left: number } {
  return change(file, tokenSchema, (db) => {
    // Rows with these ids are no tokens: they list the revoked tokens of an identity provider.
    const isToken = "id NOT LIKE 'jwt:%'";
    const which = all ? isToken : 'parent_id IS NOT NULL';
    const dropped = db.prepare(`DELETE FROM token WHERE ${which}`).run().changes;
    const left = db.prepare<[], number>(`SELECT COUNT(*) FROM token WHERE ${isToken}`).pluck().get() ?? 0;
    return { dropped, left };
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
