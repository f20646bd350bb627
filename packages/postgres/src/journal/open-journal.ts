import { randomBytes } from 'node:crypto';
import { SignalboxError } from '@signalbox/protocol';
import type { JournalLimits } from '@signalbox/serving';
import type { Journal } from '@signalbox/store/journal';
import {
  BrokerIncarnation,
  journalSchemaOf,
  type MarkOptions,
  PostgresDatabase,
  prepareTables,
} from '../internal.ts';
import { attempt } from './journal-error.ts';
import { journalTables, schemaVersion } from './journal-schema.ts';
import { PostgresJournal } from './postgres-journal.ts';

/** The longest name of the schema. A name has at most 48 characters, of which the journal adds some. */
const maxSchemaLength = 40;

/** The database of a journal, and the time for which it keeps calls. */
export interface PostgresJournalOptions {
  /** The address of the database: `postgres://user:password@host:port/database`. */
  url: string;
  /** The schema of the brokers' stores, at most 40 characters. The journal is in a schema beside it, whose name ends with `_journal`. */
  schema: string;
  /** Replaces some of the defaults, which are in `journalLimits` of the protocol. */
  limits?: Partial<JournalLimits>;
  /**
   * The name of the orchestrator among those that share the journal. It takes over at once from one with the same name and owner, which
   * must have ended. Without a name each start is another orchestrator.
   */
  name?: string;
  owner?: string;
  /** See `PostgresDatabaseOptions`. */
  mark?: Pick<MarkOptions, 'file' | 'onRestored'>;
  /** The time between two deletions of old calls, in milliseconds; default a minute. */
  pruneEveryMs?: number;
  /** The time for which a silent orchestrator counts as alive, in milliseconds; 10 seconds by default. */
  leaseMs?: number;
  /** Returns epoch milliseconds, for the times of pins. */
  now?: () => number;
  /** Returns the epoch milliseconds that decide the age of calls; by default the database's clock. */
  clock?: () => number;
}

/**
 * Opens a journal in a PostgreSQL database, which orchestrators share. Each begins an incarnation there. An orchestrator that was stopped
 * for longer than its lease starts no further call. Rejects with `SignalboxError` `journal_failed`, `journal_full` or `journal_in_use`.
 */
export async function openPostgresJournal(options: PostgresJournalOptions): Promise<Journal> {
  return await attempt(async () => {
    const { url, schema, leaseMs } = options;
    if (schema.length > maxSchemaLength)
      throw new SignalboxError(
        'journal_failed',
        `broker.store.schema '${schema}' is too long for an orchestrator, whose journal is in a schema of that name with _journal behind it. Take a name of at most ${maxSchemaLength} characters.`,
      );
    await using opening = new AsyncDisposableStack();
    const { name = `orchestrator-${randomBytes(8).toString('hex')}`, owner } = options;
    const mark = options.mark && { ...options.mark, stores: schema };
    const incarnation = { url, schema: journalSchemaOf(schema), broker: name, owner, leaseMs, mark };
    const database = opening.use(new PostgresDatabase(incarnation));
    const make = () => journalTables(`j-${randomBytes(12).toString('base64url')}`);
    await prepareTables(database, { version: schemaVersion, make });
    database.use(await BrokerIncarnation.begin(database, incarnation));
    const [row] = await database.read<{ value: string }>(
      database.unnamed(`SELECT value FROM @meta WHERE key = 'journal'`),
    );
    const resources = opening.move();
    return new PostgresJournal({ ...options, database, id: row!.value, resources });
  });
}
