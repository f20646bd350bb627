import { join } from 'node:path';
import { openPostgresStores, type PostgresStores, type PostgresStoresOptions } from '@signalbox/postgres';
import { copyIntoPostgres } from '@signalbox/postgres/internal';
import { openSqliteInboxStore } from '@signalbox/store';
import { type SqliteFiles, sqliteContent } from '@signalbox/store/internal';
import { tempDir } from '@signalbox/testing';
import { testSchema } from './test-store.ts';

/** The options with which a store is opened on both sides. */
export interface BothSides<T> {
  onFiles(files: SqliteFiles): Promise<T>;
  inDatabase(stores: PostgresStores): T;
  /** The options of the side in the database. */
  options?: Omit<PostgresStoresOptions, 'url' | 'schema' | 'broker'>;
}

/** A store on SQLite that is copied to PostgreSQL when it is opened again for the first time, and is there from then on. */
export async function openCopied<T extends AsyncDisposable>({
  onFiles,
  inDatabase,
  options = {},
}: BothSides<T>): Promise<AsyncDisposable & { readonly opened: T; reopen(): Promise<T> }> {
  const directory = await tempDir();
  const schema = await testSchema();
  const files = {
    messages: join(directory.path, 'messages.db'),
    tokens: join(directory.path, 'tokens.db'),
    audit: join(directory.path, 'audit.db'),
  };
  // A broker always has one.
  await (await openSqliteInboxStore({ file: files.messages, durability: 'process' }))[Symbol.asyncDispose]();
  let opened = await onFiles(files);
  let stores: PostgresStores | undefined;
  const close = (): PromiseLike<void> => (stores ?? opened)[Symbol.asyncDispose]();
  return {
    get opened() {
      return opened;
    },
    async reopen() {
      await close();
      const { signal } = new AbortController();
      const now = (options.now ?? Date.now)();
      if (!stores) await copyIntoPostgres(() => sqliteContent(files), { ...schema, now, signal });
      stores = await openPostgresStores({ ...options, ...schema, broker: 'one' });
      opened = inDatabase(stores);
      return opened;
    },
    async [Symbol.asyncDispose]() {
      await close();
      await schema[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}
