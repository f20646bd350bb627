import { BrokerIncarnation } from './database/broker-incarnation.ts';
import { PostgresDatabase, type PostgresDatabaseOptions } from './database/database.ts';
import { prepareSchema } from './schema.ts';

/**
 * Connects, makes the tables if they are missing, and begins the incarnation of the broker. Rejects with a `StoreError`:
 * `store_unavailable`, `store_refused`, `store_unwritable`, `store_other_version`, `store_in_use`, `store_full`, `store_failed`.
 */
export async function openPostgresDatabase(options: PostgresDatabaseOptions): Promise<PostgresDatabase> {
  const database = new PostgresDatabase(options);
  try {
    await prepareSchema(database, options.now ?? Date.now);
    database.use(await BrokerIncarnation.begin(database, options));
    return database;
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
}
