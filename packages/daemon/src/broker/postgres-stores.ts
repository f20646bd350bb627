import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { StoresElsewhere } from '@signalbox/broker';
import { errnoOf } from '@signalbox/protocol/internal';
import { writeWhole } from '@signalbox/serving/whole-files';
import type { Config } from '../config/index.ts';
import type { Log, LogEvent } from '../log.ts';

/** Returns the stores in a schema of a PostgreSQL database, for the broker of a data directory. */
export function postgresStores(
  dataDir: string,
  { postgres: url, direct, schema, name, link }: NonNullable<Config['broker']['store']>,
  log: Log,
): StoresElsewhere {
  return {
    noBackup: `messages, tokens and the audit log are in PostgreSQL, and this command copies files: make the backup with pg_dump --schema=${schema}, or with pg_basebackup`,
    async open({ now: _ofThisMachine, ...settings }) {
      // The driver is loaded only if the configuration names a database.
      const { openPostgresStores } = await import('@signalbox/postgres');
      const id = await directoryId(dataDir);
      // A copy of the directory has the same id, and is at another place.
      const owner = `${hostname()} ${dataDir} ${id}`;
      return openPostgresStores({
        ...settings,
        url,
        direct,
        link,
        schema,
        broker: name ?? brokerName(hostname(), id),
        owner,
        mark: { file: join(dataDir, 'broker.mark'), onRestored: (reason) => log(restoredDatabase(reason)) },
      });
    },
  };
}

/** Returns the event of the log for a database that lacks what it had confirmed. */
export function restoredDatabase(reason: string): LogEvent {
  return {
    event: 'database_restored',
    level: 'warn',
    message: `the database was restored to an earlier moment: ${reason}. Waiting calls that are not safe to repeat end as outcome_unknown, and clients take the broker for a new one`,
  };
}

/** Names the broker of a data directory by its machine and the id of the directory. */
export function brokerName(machine: string, id: string): string {
  const plain = machine
    .toLowerCase()
    .replaceAll(/[^a-z0-9_.-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, 40);
  return `${plain || 'broker'}-${id.slice(0, 6)}`;
}

/** Returns the id of a data directory that this process has locked. It is made with the first broker. */
export async function directoryId(dataDir: string): Promise<string> {
  const file = join(dataDir, 'owner.id');
  const known = await readFile(file, 'utf8').catch((error: unknown) => {
    if (errnoOf(error) === 'ENOENT') return '';
    throw error;
  });
  if (/^[0-9a-f]{32}$/.test(known)) return known;
  const id = randomBytes(16).toString('hex');
  await writeWhole(file, id);
  return id;
}
