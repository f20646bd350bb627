import { Connection } from '../database/connection.ts';

/** Drops a schema with everything in it. */
export async function dropSchema({ url, schema }: { url: string; schema: string }): Promise<void> {
  const connection = await Connection.open({ connectionString: url }, { usesIndexes: false, openedAt: 0 });
  try {
    await connection.run(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
  } finally {
    await connection.close();
  }
}
