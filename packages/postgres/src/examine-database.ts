import { PostgresDatabase, type PostgresDatabaseOptions } from './database/database.ts';
import { statementOf } from './database/statement.ts';
import { checkVersion, versionQuery } from './schema.ts';

/** A schema in the state in which a broker would find it. */
export interface ExaminedDatabase {
  /** Names the database and the schema, without a password. */
  readonly place: string;
  /** The version of the server, as in `18.4`. */
  readonly version: string;
  readonly receiptMeans: 'fsynced' | 'written' | 'replicated';
  /** The living brokers; undefined if there are no tables yet. */
  readonly brokers: readonly string[] | undefined;
}

/** Examines a schema like a broker at its start, and changes nothing. Rejects with the `StoreError` that the broker would get. */
export async function examineDatabase(
  options: Pick<PostgresDatabaseOptions, 'url' | 'schema'>,
): Promise<ExaminedDatabase> {
  await using database = new PostgresDatabase({ ...options, broker: 'examination', patienceMs: 0 });
  const [server] = await database.read<{ version: string; hasTables: boolean }>(
    statementOf(
      '',
      `SELECT current_setting('server_version') AS version, to_regclass($1) IS NOT NULL AS "hasTables"`,
    ),
    [`${options.schema}.meta`],
  );
  const { version, hasTables } = server!;
  const { receiptMeans } = database.facts;
  if (hasTables) checkVersion(await database.read(database.unnamed(versionQuery)), database.place);
  const rows = hasTables
    ? await database.read<{ broker: string }>(
        database.unnamed(
          'SELECT broker FROM @incarnation WHERE NOT is_over AND alive_until > clock_timestamp() ORDER BY epoch',
        ),
      )
    : undefined;
  return { place: database.place, version, receiptMeans, brokers: rows?.map(({ broker }) => broker) };
}
