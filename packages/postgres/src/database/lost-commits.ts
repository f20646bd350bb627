import { randomBytes } from 'node:crypto';
import { journalSchemaOf } from '../settings/names.ts';
import type { Transaction } from './attempt.ts';
import type { PostgresDatabase } from './database.ts';
import type { ConfirmedCommit } from './mark-file.ts';
import { mayLackCommits } from './server-facts.ts';
import { statementOf } from './statement.ts';

/** The time after which the rows of ended incarnations are removed, in milliseconds. */
export const keptRowsMs = 24 * 60 * 60 * 1000;
/** More sequence numbers than a database can have given to messages that it lacks. */
const skippedNumbers = 2 ** 32;

/**
 * Compares a schema with the mark of an incarnation. If the schema lacks commits that the mark has, it is declared restored, once for all
 * marks. Returns in words what shows that, or `undefined`.
 */
export async function findLostCommits(
  database: PostgresDatabase,
  confirmed: ConfirmedCommit | 'damaged',
  stores: string,
): Promise<string | undefined> {
  return database.prepare(async (transaction) => {
    // Of two processes that start at once, the second one sees that the first one has declared it.
    await lockDeclarations(transaction, stores);
    const reason = await reasonOf(transaction, database, confirmed);
    if (reason === undefined) return undefined;
    await declareRestored(transaction, stores);
    if (confirmed !== 'damaged') transaction.write(database.unnamed(addFormer('@')), [confirmed.store]);
    return reason;
  });
}

/** Makes everybody else who would declare a database restored wait for this transaction. `stores` is the schema of the brokers. */
export async function lockDeclarations(transaction: Transaction, stores: string): Promise<void> {
  const text = `SELECT pg_advisory_xact_lock(hashtext('signalbox restored'), hashtext($1))`;
  await transaction.query(statementOf('', text), [stores]);
}

/**
 * Gives the schema of the brokers and that of the journal new identities, ends all incarnations and approvals, and makes every inbox
 * foreign to every journal. No message gets the number of one that is lacking, which somebody may still ack. Returns the new identity of the brokers' schema, or `undefined` if that has no tables.
 */
export async function declareRestored(transaction: Transaction, stores: string): Promise<string | undefined> {
  const identity = await renew(transaction, stores);
  if (identity !== undefined) {
    transaction.script(`
      SELECT setval('${stores}.message_seq', last_value + ${skippedNumbers}) FROM ${stores}.message_seq;
      DELETE FROM ${stores}.journal;
      INSERT INTO ${stores}.meta VALUES ('restored_at', (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value`);
  }
  const journal = journalSchemaOf(stores);
  if ((await renew(transaction, journal)) !== undefined)
    transaction.write(statementOf('', endApprovals(journal)), [
      'the database was restored to an earlier moment, so that somebody may have decided already, and the call may have run',
    ]);
  return identity;
}

/**
 * SQL that ends the approvals on which nobody had decided, for the reason `$1`, and uses up all: their calls may have been made. Questions
 * of agents' CLIs, whose tools have no known definition, go on to wait: nothing runs for them.
 */
function endApprovals(journal: string): string {
  const now = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
  return `UPDATE ${journal}.approval SET is_used = true,
      ending = coalesce(ending, json_build_object('state', 'cancelled', 'endedAt', ${now}, 'reason', $1::text)::text)
    WHERE ending IS NOT NULL OR details NOT LIKE '%"definitionHash":"unknown"%'`;
}

/** Gives a schema a new identity and ends its incarnations. Returns the identity, or `undefined` if the schema has no tables. */
async function renew(transaction: Transaction, schema: string): Promise<string | undefined> {
  const [found] = await transaction.query<{ meta: string | null }>(
    statementOf('', 'SELECT to_regclass($1)::text AS meta'),
    [`${schema}.meta`],
  );
  if (found?.meta == null) return undefined;
  const identity = randomBytes(16).toString('hex');
  // No incarnation begins meanwhile, and those that begin later find the new identity.
  transaction.script(`
    LOCK TABLE ${schema}.incarnation IN SHARE ROW EXCLUSIVE MODE;
    UPDATE ${schema}.incarnation SET is_over = true WHERE NOT is_over`);
  const [before] = await transaction.query<{ value: string }>(
    statementOf('', `SELECT value FROM ${schema}.meta WHERE key = 'identity'`),
  );
  if (before) transaction.write(statementOf('', addFormer(`${schema}.`)), [before.value]);
  transaction.write(statementOf('', `UPDATE ${schema}.meta SET value = $1 WHERE key = 'identity'`), [
    identity,
  ]);
  return identity;
}

/** Returns the identities in the row `former` of a schema. */
export function formerOf(row: string | null | undefined): string[] {
  return row?.split(' ') ?? [];
}

/** SQL that notes an identity which a schema had before it was declared restored. */
function addFormer(schema: string): string {
  return `INSERT INTO ${schema}meta VALUES ('former', $1)
    ON CONFLICT (key) DO UPDATE SET value = ${schema}meta.value || ' ' || excluded.value
    WHERE position(excluded.value IN ${schema}meta.value) = 0`;
}

async function reasonOf(
  transaction: Transaction,
  database: PostgresDatabase,
  confirmed: ConfirmedCommit | 'damaged',
): Promise<string | undefined> {
  if (confirmed === 'damaged') return 'the file that says what it had confirmed is damaged';
  const facts = await transaction.query<{ key: string; value: string }>(
    database.unnamed(`SELECT key, value FROM @meta WHERE key IN ('identity', 'former')`),
  );
  const { identity = '', former } = Object.fromEntries(facts.map(({ key, value }) => [key, value]));
  if (confirmed.store !== identity) {
    // A store that descends from the known one was declared restored since. One that is no relative never had the commits.
    const isOlder = confirmed.former.includes(identity) && !formerOf(former).includes(confirmed.store);
    return isOlder ? 'it was declared restored before, and is now older than that' : undefined;
  }
  if (mayLackCommits(database.facts, confirmed.timeline))
    return 'its server is a promoted standby or was recovered, and may lack the last commits';
  const { broker, epoch, commits, at } = confirmed;
  const [row] = await transaction.query<{ epoch: number; commits: number }>(
    database.unnamed('SELECT epoch, commits FROM @incarnation WHERE broker = $1'),
    [broker],
  );
  const [last] = await transaction.query<{ epoch: number; now: number }>(
    database.unnamed(
      'SELECT last_value AS epoch, (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now FROM @incarnation_epoch',
    ),
  );
  // The row of an incarnation that ended long ago was removed.
  const isLacking = row
    ? row.epoch < epoch || (row.epoch === epoch && row.commits < commits)
    : last!.epoch < epoch || last!.now - at < keptRowsMs;
  return isLacking ? 'it lacks commits that it had confirmed' : undefined;
}
