import { type ContentCounts, ContentDigest, type ContentPart, StoreError } from '@signalbox/store/rules';
import type { Transaction } from '../database/attempt.ts';
import { PostgresDatabase } from '../database/database.ts';
import { lockSchema, makeTables } from '../schema.ts';
import { postgresContent } from './content-reader.ts';
import { ContentWriter } from './content-writer.ts';

/** The longest time of one statement, in milliseconds: some cover everything that was copied. */
const answerMs = 60 * 60 * 1000;
/** The time in which the source must provide the next part, in milliseconds. */
const pauseMs = 10 * 60 * 1000;

/** The place to which a store is copied. */
export interface CopyTarget {
  /** See `PostgresDatabaseOptions`. */
  url: string;
  schema: string;
  /** Epoch milliseconds. */
  now: number;
  /** Ends the copy before it is complete; then the database keeps no part of it. */
  signal: AbortSignal;
  /** Called with the number of items that were written, and later with the number of those that were read back. */
  onProgress?: (progress: { step: 'writing' | 'verifying'; items: number }) => void;
}

/** The result of a copy. */
export interface CopiedContent {
  counts: ContentCounts;
  /** The hash over all items and bodies, which is the same for both sides. */
  hash: string;
}

/**
 * Copies the content of a store into a schema without tables, in one transaction: the copy is read back and compared before it is
 * committed, and a failed copy leaves nothing. `content` is read once; if the connection is lost, it is read again. Rejects with a
 * `StoreError`, for example `store_in_use` if the schema has tables, or with the reason of the signal.
 */
export async function copyIntoPostgres(
  content: () => Iterable<ContentPart>,
  target: CopyTarget,
): Promise<CopiedContent> {
  const { url, schema, signal } = target;
  await using database = new PostgresDatabase({ url, schema, broker: 'copy', patienceMs: 0, answerMs });
  let copied: CopiedContent | undefined;
  try {
    return await database.prepare(async (transaction) => {
      const presence = await lockSchema(transaction, database);
      if (presence === 'tables') {
        // The connection was lost while this copy was committed.
        if (copied && (await digestOf(transaction, database)).hash === copied.hash) return copied;
        throw await refusal(transaction, database);
      }
      transaction.script(
        `SET LOCAL idle_in_transaction_session_timeout = ${pauseMs}; SET LOCAL enable_seqscan = on`,
      );
      makeTables(transaction, database, { presence, now: target.now });
      const source = await write(transaction, database, content, target);
      const written = await digestOf(transaction, database, target);
      const differing = source.differencesTo(written);
      if (differing.length > 0)
        throw new StoreError(
          'store_failed',
          `${database.place}: what was written is not what was read: ${differing.join(', ')}. Nothing was copied.`,
        );
      copied = { counts: source.counts, hash: source.hash };
      return copied;
    });
  } catch (thrown) {
    throw signal.aborted ? signal.reason : thrown;
  }
}

async function write(
  transaction: Transaction,
  database: PostgresDatabase,
  content: () => Iterable<ContentPart>,
  { signal, onProgress }: CopyTarget,
): Promise<ContentDigest> {
  const digest = new ContentDigest();
  const writer = new ContentWriter(transaction, database);
  let items = 0;
  for (const part of content()) {
    signal.throwIfAborted();
    digest.add(part);
    await writer.write(part);
    items += part.items.length;
    onProgress?.({ step: 'writing', items });
  }
  await writer.finish();
  return digest;
}

async function digestOf(
  transaction: Transaction,
  database: PostgresDatabase,
  target?: CopyTarget,
): Promise<ContentDigest> {
  const digest = new ContentDigest();
  let items = 0;
  for await (const part of postgresContent(transaction, database)) {
    target?.signal.throwIfAborted();
    digest.add(part, 'hashed');
    items += part.items.length;
    target?.onProgress?.({ step: 'verifying', items });
  }
  return digest;
}

async function refusal(transaction: Transaction, database: PostgresDatabase): Promise<StoreError> {
  const { place, schema } = database;
  const other =
    'A copy needs a schema without tables of Signalbox: name another one, or remove this one with everything in it, with';
  const remove = `DROP SCHEMA ${schema} CASCADE;`;
  const incarnations = await transaction.query<{ broker: string }>(
    database.unnamed('SELECT broker FROM @incarnation WHERE alive_until > clock_timestamp() ORDER BY broker'),
  );
  if (incarnations.length > 0)
    return new StoreError(
      'store_in_use',
      `${place}: a broker uses it now (${incarnations.map(({ broker }) => broker).join(', ')}). ${other} ${remove} Stop the broker before.`,
    );
  const [held] = await transaction.query<{ messages: number }>(
    database.unnamed(
      `SELECT (SELECT count(*) FROM @message) + (SELECT count(*) FROM @scheduled) + (SELECT count(*) FROM @dead_letter) AS messages`,
    ),
  );
  return new StoreError(
    'store_in_use',
    `${place}: it has tables of Signalbox, and ${held?.messages ?? 0} messages are in it. ${other} ${remove}`,
  );
}
