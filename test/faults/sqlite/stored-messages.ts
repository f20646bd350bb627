import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteInboxStore } from '@signalbox/store';
import { tempDir } from '@signalbox/testing';
import Database from 'better-sqlite3';

/** What the broker's database holds of calls and notes. */
export interface StoredMessages {
  /** Ids of tool calls that are neither answered nor given up. */
  waitingCalls: string[];
  /** Ids of tool calls that were settled. */
  settledCalls: Set<string>;
  /** Ids in one inbox, in order. */
  inbox: string[];
}

const everything = 1_000_000;

/** Looks at a copy, which a store opens as after a crash: the broker may be running, or have died. */
export async function readStoredMessages(dataDir: string, inbox: string): Promise<StoredMessages> {
  await using directory = await tempDir();
  const file = join(directory.path, 'messages.db');
  const original = join(dataDir, 'messages.db');
  // The mark comes first: it must not name a commit that is not in the copy.
  copyFileSync(`${original}.mark`, `${file}.mark`);
  const database = new Database(original, { readonly: true });
  try {
    await database.backup(file);
  } finally {
    database.close();
  }
  await using store = await openSqliteInboxStore({ file, durability: 'process' });
  const { entries } = await store.history({ since: 0, limit: everything });
  const calls = entries.filter(({ kind }) => kind === 'mcp_request');
  return {
    waitingCalls: calls.filter(({ settled }) => !settled).map(({ id }) => id),
    settledCalls: new Set(calls.filter(({ settled }) => settled).map(({ id }) => id)),
    inbox: (await store.read(inbox, 0, everything, Number.MAX_SAFE_INTEGER)).map(({ id }) => id),
  };
}
