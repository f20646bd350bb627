import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { StoresElsewhere } from '@signalbox/broker';
import { errnoOf } from '@signalbox/protocol/internal';

/** Returns the stores in a schema of a PostgreSQL database, for the broker of a data directory. */
export function postgresStores(
  dataDir: string,
  { postgres: url, schema }: { postgres: string; schema: string },
): StoresElsewhere {
  return {
    noBackup:
      'messages, tokens and the audit log are in PostgreSQL, and this command copies files: make the backup with pg_dump or pg_basebackup',
    async open({ auditBytes, onAuditError, ...settings }) {
      // Only who names a database loads its driver.
      const postgres = await import('@signalbox/store-postgres');
      const { now, monotonic } = settings;
      await using opened = new AsyncDisposableStack();
      const owner = await ownerOf(dataDir);
      const database = opened.use(
        await postgres.openPostgresDatabase({ url, schema, owner, now, monotonic }),
      );
      const inboxes = opened.use(await postgres.openPostgresInboxStore({ ...settings, database }));
      const tokens = opened.use(postgres.openPostgresTokenStore(database));
      const audit = opened.use(
        await postgres.openPostgresAuditLog({ database, maxBytes: auditBytes, onError: onAuditError, now }),
      );
      const stack = opened.move();
      return { inboxes, tokens, audit, [Symbol.asyncDispose]: () => stack.disposeAsync() };
    },
  };
}

/**
 * Names a data directory of this machine. A broker that has it locked knows that the one before on it has ended. A copy on another machine
 * has another name.
 */
async function ownerOf(dataDir: string): Promise<string> {
  const file = join(dataDir, 'owner.id');
  try {
    await writeFile(file, randomBytes(16).toString('hex'), { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
  return `${hostname()} ${await readFile(file, 'utf8')}`;
}
