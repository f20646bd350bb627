import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type NewMessage,
  type Outcome,
  openSqliteInboxStore,
  type SqliteInboxStoreOptions,
} from '@signalbox/store';
import type { StoreUnderTest } from '@signalbox/store/conformance';
import { tempDir } from '@signalbox/testing';
import Database from 'better-sqlite3';
import { expect } from 'vitest';

export const hour = 60 * 60 * 1000;
export const startedAt = 1_800_000_000_000;

export async function openStore(
  options: Partial<SqliteInboxStoreOptions> = {},
): Promise<StoreUnderTest & { readonly file: string }> {
  const directory = await tempDir();
  const file = join(directory.path, 'messages.db');
  let clock = startedAt;
  const now = () => clock;
  const open = () => openSqliteInboxStore({ durability: 'process', now, monotonic: now, ...options, file });
  let store = await open();
  return {
    file,
    get store() {
      return store;
    },
    async reopen() {
      await store[Symbol.asyncDispose]();
      store = await open();
      return store;
    },
    advance: (ms) => {
      clock += ms;
    },
    now,
    forgottenAfterMs: 24 * hour,
    memoryRoom: options.memtableMessages ?? 4000,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}

export function message(id: string): NewMessage {
  const sender = { sender: 'ann', senderAddress: 'ann', senderRole: 'worker' };
  const times = { createdAt: startedAt, expiresAt: startedAt + 1000 * hour };
  return { inbox: 'inbox', id, ...sender, kind: 'note', ...times, body: '"body"' };
}

/** Sequence numbers of the messages, all of which must be stored. */
export async function commit({ store }: StoreUnderTest, messages: NewMessage[]): Promise<number[]> {
  const appended = await store.commit({ messages, settlements: [], attempts: [] });
  return appended.map((one) => (one.result === 'stored' ? one.seq : expect.fail(one.result)));
}

export async function settle(
  { store }: StoreUnderTest,
  seqs: number[],
  outcome: Outcome = 'acked',
  inbox = 'inbox',
): Promise<void> {
  const settlements = seqs.map((seq) => ({ inbox, seq, outcome }));
  await store.commit({ messages: [], settlements, attempts: [] });
}

/** The segments of settled messages. */
export function settledSegments(file: string): unknown[] {
  return select(file, `SELECT number FROM segment WHERE kind = 'settled'`);
}

export function select(file: string, sql: string): unknown[] {
  const db = new Database(file, { readonly: true });
  try {
    return db.prepare(sql).all();
  } finally {
    db.close();
  }
}

export function edit(file: string, sql: string): void {
  const db = new Database(file).unsafeMode();
  try {
    db.exec(sql);
  } finally {
    db.close();
  }
}

/** Overwrites a text in a database file with another one of the same length. */
export function replaceText(file: string, text: string, other: string): void {
  const content = readFileSync(file);
  // A page of the file may hold what SQLite does not read any more.
  for (let at = content.indexOf(text); at >= 0; at = content.indexOf(text, at + 1)) content.write(other, at);
  writeFileSync(file, content);
}
