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

/** Reads the number of the last commit that is in the log of the broker's messages, directly from the file; 0 for none. */
export function lastCommit(dataDir: string): number {
  const database = new Database(join(dataDir, 'messages.db'), { readonly: true });
  try {
    const row = database
      .prepare<[], { last: number | null }>('SELECT max(number) AS last FROM commit_log')
      .get();
    return row?.last ?? 0;
  } finally {
    database.close();
  }
}
