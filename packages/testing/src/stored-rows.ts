import { join } from 'node:path';
import Database from 'better-sqlite3';

/** Reads every row of the broker's message tables as one comparable text, directly from the file. */
export function storedRows(dataDir: string): string {
  const database = new Database(join(dataDir, 'messages.db'), { readonly: true });
  try {
    const tables = database
      .prepare<[], { name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
      .all();
    const rows = tables.map(({ name }) => [name, database.prepare(`SELECT * FROM "${name}"`).all()]);
    return JSON.stringify(rows);
  } finally {
    database.close();
  }
}
