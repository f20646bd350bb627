import Database from 'better-sqlite3';
import { toStoreError } from '../database.ts';

/**
 * Opens a database that nobody uses for reading, and hands it to `read` with what is wrong with SQLite's own structures. Throws a
 * `StoreError`.
 */
export function readDatabase<T>(file: string, read: (db: Database.Database, problems: string[]) => T): T {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true });
    const structure = db.pragma('integrity_check(20)') as { integrity_check: string }[];
    return read(
      db,
      structure.map((row) => row.integrity_check).filter((text) => text !== 'ok'),
    );
  } catch (thrown) {
    throw toStoreError(thrown, file);
  } finally {
    db?.close();
  }
}
