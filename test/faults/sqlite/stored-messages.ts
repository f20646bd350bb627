import { join } from 'node:path';
import Database from 'better-sqlite3';

/** What the broker's database holds of calls and notes, read from the file. */
export interface StoredMessages {
  /** Ids of tool calls that are neither answered nor given up. */
  waitingCalls: string[];
  /** Ids of tool calls that were settled. */
  settledCalls: Set<string>;
  /** Ids in one inbox, in order. */
  inbox: string[];
}

export function readStoredMessages(dataDir: string, inbox: string): StoredMessages {
  const database = new Database(join(dataDir, 'messages.db'), { readonly: true });
  try {
    const ids = (sql: string, ...values: string[]): string[] =>
      database
        .prepare<string[], string>(sql)
        .pluck()
        .all(...values);
    const slices = ids(
      `SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'settled\\_%' ESCAPE '\\'`,
    );
    return {
      waitingCalls: ids(`SELECT id FROM message WHERE kind = 'mcp_request'`),
      settledCalls: new Set(
        slices.flatMap((slice) => ids(`SELECT id FROM "${slice}" WHERE kind = 'mcp_request'`)),
      ),
      inbox: ids('SELECT id FROM message WHERE inbox = ? ORDER BY seq', inbox),
    };
  } finally {
    database.close();
  }
}
