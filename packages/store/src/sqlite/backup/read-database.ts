import Database from 'better-sqlite3';
import { toStoreError } from '../database.ts';

/** The most problems of SQLite's own structures that are listed. */
const maxProblems = 20;

/** The expected format of a database: the SQL that made its tables, and its version (`user_version`). */
export interface DatabaseFormat {
  schema: string;
  version: number;
}

/**
 * Opens a database that is not in use for reading. Calls `read` with it and with the problems of SQLite's own structures, of its version
 * and of the definitions of its tables. Throws a `StoreError`.
 */
export function readDatabase<T>(
  file: string,
  format: DatabaseFormat,
  read: (db: Database.Database, problems: string[]) => T,
): T {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true });
    const structure = db.pragma(`integrity_check(${maxProblems})`) as { integrity_check: string }[];
    const problems = structure.map((row) => row.integrity_check).filter((text) => text !== 'ok');
    return read(db, [...problems, ...alteredFormat(db, format)]);
  } catch (thrown) {
    throw toStoreError(thrown, file);
  } finally {
    db?.close();
  }
}

/** Compares the texts that made the tables. SQLite reads them at each start, and has no checksum of them. */
function alteredFormat(db: Database.Database, { schema, version }: DatabaseFormat): string[] {
  const present = db.pragma('user_version', { simple: true });
  const altered = present === version ? [] : [`the format has version ${present}, not ${version}`];
  return [...altered, ...alteredDefinitions(db, schema)];
}

function alteredDefinitions(db: Database.Database, schema: string): string[] {
  using made = Object.assign(new Database(':memory:'), { [Symbol.dispose]: () => made.close() });
  made.exec(schema);
  const present = definitionsOf(db);
  return [...definitionsOf(made)]
    .filter(([name, text]) => present.get(name) !== text)
    .map(([name]) => `the definition of '${name}' was altered`);
}

function definitionsOf(db: Database.Database): Map<string, string> {
  const rows = db.prepare<[], { type: string; name: string; table: string; sql: string | null }>(
    'SELECT type, name, tbl_name AS "table", sql FROM sqlite_schema',
  );
  return new Map(rows.all().map(({ type, name, table, sql }) => [name, `${type} ${table} ${sql}`]));
}
