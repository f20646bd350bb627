import { existsSync } from 'node:fs';
import { brokerFiles } from '@signalbox/broker/files';
import type { CopiedContent, CopyTarget } from '@signalbox/postgres/internal';
import { SignalboxError } from '@signalbox/protocol';
import { holdStoppedDirectory, sqliteContent } from '@signalbox/store/internal';
import { verifyBrokerData, withoutTraces } from '../backup/stopped-data.ts';

/** The data directory whose databases are copied, and the schema that they are copied to. */
export interface CopyStoreOptions extends CopyTarget {
  /** Its absolute path. */
  directory: string;
}

/** The result of a copy. */
export type CopiedStore = CopiedContent;

/** The largest number of problems of damaged databases that an error names. */
const maxProblems = 5;

/**
 * Copies messages, tokens and the audit log of a broker that does not run from the files of its data directory to a schema of PostgreSQL,
 * and compares both. The files are not changed. Rejects with `data_directory_locked`, `bad_data_directory`, `store_damaged`, or as
 * `copyIntoPostgres` does; the schema is as before then.
 */
export async function copyStore({ directory, ...target }: CopyStoreOptions): Promise<CopiedStore> {
  const { messages, tokens, audit } = brokerFiles(directory);
  if (!existsSync(messages))
    throw new SignalboxError(
      'bad_data_directory',
      `${directory} holds no messages: there is no ${messages}`,
      {
        details: { hint: 'name the data directory of the broker, as in --from sqlite:./state' },
      },
    );
  using _held = holdStoppedDirectory(directory);
  const problems = await verifyBrokerData(directory);
  if (problems.length > 0) throw damaged(problems);
  target.signal.throwIfAborted();
  using cleaned = new DisposableStack();
  for (const file of [messages, tokens, audit]) cleaned.use(withoutTraces(file));
  // The driver is loaded only if the configuration names a database.
  const { copyIntoPostgres } = await import('@signalbox/postgres/internal');
  return await copyIntoPostgres(() => sqliteContent({ messages, tokens, audit }), target);
}

function damaged(problems: readonly string[]): SignalboxError {
  const more = problems.length > maxProblems ? `; and ${problems.length - maxProblems} more` : '';
  return new SignalboxError(
    'store_damaged',
    `nothing was copied, because the source is damaged: ${problems.slice(0, maxProblems).join('; ')}${more}`,
    {
      details: {
        hint: 'start the broker on it once, which repairs what can be repaired and reports the rest, and stop it again',
      },
    },
  );
}
