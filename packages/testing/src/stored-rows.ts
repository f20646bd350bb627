import { join } from 'node:path';
import Database from 'better-sqlite3';
import { testStores } from './test-stores.ts';

/** Reads every row of the broker's message tables as one comparable text, directly from its files. */
export async function storedRows(dataDir: string): Promise<string> {
  return (await (await testStores())?.rows(dataDir)) ?? rowsOfFile(dataDir);
}

function rowsOfFile(dataDir: string): string {
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

/** Reads the entries of one kind in the audit log of a broker that has stopped. */
export async function auditEntries(dataDir: string, kind: string): Promise<string[]> {
  const elsewhere = await testStores();
  if (elsewhere) return elsewhere.audit(dataDir, kind);
  const database = new Database(join(dataDir, 'audit.db'), { readonly: true });
  try {
    const rows = database.prepare<[], { entry: string }>(`SELECT entry FROM "audit_${kind}" ORDER BY number`);
    return rows.all().map(({ entry }) => entry);
  } finally {
    database.close();
  }
}

/** Reads the number of the last commit in the log of the broker's messages, directly from the file; 0 if there is none. */
export async function lastCommit(dataDir: string): Promise<number> {
  const elsewhere = await testStores();
  if (elsewhere) return elsewhere.commits(dataDir);
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
