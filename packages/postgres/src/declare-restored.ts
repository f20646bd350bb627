import { randomBytes } from 'node:crypto';
import { StoreError } from '@signalbox/store/rules';
import { openPostgresAuditLog } from './audit-log.ts';
import { PostgresDatabase, type PostgresDatabaseOptions } from './database/database.ts';
import { declareRestored, lockDeclarations } from './database/lost-commits.ts';
import { openPostgresDatabase } from './open-database.ts';

/** A database that was declared restored. */
interface RestoredDatabase {
  /** Names the database and the schema, without a password. */
  place: string;
  /** The new id of the broker. */
  brokerId: string;
}

/**
 * Declares that a schema was restored to an earlier moment, as a process does that finds so by its mark file. All brokers and
 * orchestrators on it end, and continue when they are started again. Rejects with a `StoreError`.
 */
export async function declareDatabaseRestored(
  options: Pick<PostgresDatabaseOptions, 'url' | 'schema'>,
): Promise<RestoredDatabase> {
  const named = { ...options, broker: `restored-${randomBytes(8).toString('hex')}`, patienceMs: 0 };
  const brokerId = await declare(new PostgresDatabase(named));
  await using database = await openPostgresDatabase(named);
  await using audit = await openPostgresAuditLog({ database, now: database.now });
  audit.record(restoredEvent(database.now(), 'an operator declared it'));
  return { place: database.place, brokerId };
}

/** Returns the event of the audit log for a restored database, and the reason in words. */
export function restoredEvent(at: number, detail: string) {
  return { kind: 'change' as const, at, code: 'backup_restored', detail };
}

async function declare(opened: PostgresDatabase): Promise<string> {
  await using database = opened;
  const { schema, place } = database;
  const brokerId = await database.prepare(async (transaction) => {
    await lockDeclarations(transaction, schema);
    return declareRestored(transaction, schema);
  });
  if (brokerId !== undefined) return brokerId;
  throw new StoreError(
    'store_refused',
    `${place}: no broker has run on it, so there is nothing that was restored. Correct broker.store, or restore the schema first.`,
  );
}
