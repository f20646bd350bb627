import type pg from 'pg';

/** The facts about a server that were read when a connection was opened. */
export interface ServerFacts {
  /** The version as a number: `180004` is 18.4. */
  readonly version: number;
  /** True for a standby, which takes no changes. */
  readonly isStandby: boolean;
  /** True if a pooler is in between, which may give each transaction another server process. */
  readonly isPooled: boolean;
  readonly receiptMeans: 'fsynced' | 'written' | 'replicated';
}

/** The settings that decide what a commit survives. */
export interface DurabilitySettings {
  fsync: string;
  synchronousCommit: string;
  standbyNames: string;
}

/** SQL for the columns of {@link DurabilitySettings}. */
export const durabilityColumns = `current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS "synchronousCommit",
  current_setting('synchronous_standby_names') AS "standbyNames"`;

interface Row extends DurabilitySettings {
  pid: number;
  version: number;
  isStandby: boolean;
}

/** Asks a server about itself. */
export async function serverFacts(client: pg.Client): Promise<ServerFacts> {
  const { rows } = await client.query<Row>(
    `SELECT pg_backend_pid() AS pid, current_setting('server_version_num')::int AS version, pg_is_in_recovery() AS "isStandby",
       ${durabilityColumns}`,
  );
  const { pid, version, isStandby, ...settings } = rows[0]!;
  // A pooler names a process of its own when the connection is opened.
  const isPooled = (client as pg.Client & { processID: number | null }).processID !== pid;
  return { version, isStandby, isPooled, receiptMeans: receiptMeaning(settings) };
}

/**
 * Tells what a commit survives that the server has confirmed: the end of a process, a power cut, or the loss of the machine. A standby
 * counts only if the server waits for it with every commit, until it has written the commit to its disk.
 */
export function receiptMeaning({
  fsync,
  synchronousCommit,
  standbyNames,
}: DurabilitySettings): ServerFacts['receiptMeans'] {
  if (fsync === 'off' || synchronousCommit === 'off') return 'written';
  const waits = synchronousCommit === 'on' || synchronousCommit === 'remote_apply';
  return waits && standbyNames.trim() !== '' ? 'replicated' : 'fsynced';
}
