import { Connection } from '../database/connection.ts';
import { journalSchemaOf } from '../settings/names.ts';

/** Drops the schema of brokers and that of the orchestrators' journal beside it, with all content. */
export async function dropSchema({ url, schema }: { url: string; schema: string }): Promise<void> {
  const connection = await Connection.open(url, {}, { usesIndexes: false, openedAt: 0 });
  try {
    await connection.run(`DROP SCHEMA IF EXISTS "${schema}", "${journalSchemaOf(schema)}" CASCADE`);
  } finally {
    await connection.close();
  }
}
