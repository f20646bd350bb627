import Database from 'better-sqlite3';
import { toStoreError } from '../database.ts';

/** Problems of SQLite's own structures that are listed. */
const maxProblems = 20;

/**
 * Opens a database that nobody uses for reading, and hands it to `read` with what is wrong with SQLite's own structures and with the
 * definitions of its tables, which `schema` made. Throws a `StoreError`.
 */
export function readDatabase<T>(
  file: string,
  schema: string,
  read: (db: Database.Database, problems: string[]) => T,
): T {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true });
    const structure = db.pragma(`integrity_check(${maxProblems})`) as { integrity_check: string }[];
    const problems = structure.map((row) => row.integrity_check).filter((text) => text !== 'ok');
    return read(db, [...problems, ...alteredDefinitions(db, schema)]);
  } catch (thrown) {
    throw toStoreError(thrown, file);
  } finally {
    db?.close();
  }
}

/** SQLite reads the texts that made its tables at each start, and has no checksum of them. */
function alteredDefinitions(db: Database.Database, schema: string): string[] {
  using made = Object.assign(new Database(':memory:'), { [Symbol.dispose]: () => made.close() });
  made.exec(schema);
  const present = definitionsOf(db);
  return [...definitionsOf(made)]
    .filter(([name, text]) => present.get(name) !== text)
    .map(([name]) => `the definition of '${name}' was altered`);
}

function definitionsOf(db: Database.Database): Map<string, string> {
  const rows = db.prepare<[], { type: string; name: string; table: string; sql: string }>(
    'SELECT type, name, tbl_name AS "table", sql FROM sqlite_schema WHERE sql IS NOT NULL',
  );
  return new Map(rows.all().map(({ type, name, table, sql }) => [name, `${type} ${table} ${sql}`]));
}
