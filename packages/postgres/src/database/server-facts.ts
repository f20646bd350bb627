import type pg from 'pg';

/** The facts about a server that were read when a connection was opened. */
export interface ServerFacts {
  /** The version as a number: `180004` is 18.4. */
  readonly version: number;
  /** True for a standby, which accepts no changes. */
  readonly isStandby: boolean;
  /** True if there is a pooler in between, which may give each transaction another server process. */
  readonly isPooled: boolean;
  readonly receiptMeans: 'fsynced' | 'written' | 'replicated';
  /** The timeline of the server, which changes when a standby is promoted. `null` for a standby, and if the server does not tell it. */
  readonly timeline: string | null;
}

/** The settings that decide which failures a commit survives. */
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

/** Reads the facts about a server. */
export async function serverFacts(client: pg.Client): Promise<ServerFacts> {
  const { rows } = await client.query<Row>(
    `SELECT pg_backend_pid() AS pid, current_setting('server_version_num')::int AS version, pg_is_in_recovery() AS "isStandby",
       ${durabilityColumns}`,
  );
  const { pid, version, isStandby, ...settings } = rows[0]!;
  // A pooler reports the id of a process of its own when the connection is opened.
  const isPooled = (client as pg.Client & { processID: number | null }).processID !== pid;
  const timeline = isStandby ? null : await timelineOf(client);
  return { version, isStandby, isPooled, receiptMeans: receiptMeaning(settings), timeline };
}

/** Returns the timeline on which commits are safe. It is `null` if a standby has each commit, so that its promotion loses none. */
export function safeTimeline({ timeline, receiptMeans }: ServerFacts): string | null {
  return receiptMeans === 'replicated' ? null : timeline;
}

/** Tells whether a server may lack commits that were confirmed on a timeline, because it was promoted or recovered since. */
export function mayLackCommits({ timeline }: ServerFacts, safe: string | null): boolean {
  return timeline !== null && safe !== null && timeline !== safe;
}

/** Reads the timeline from the name of the file that the server writes. A server with another storage may not know it. */
async function timelineOf(client: pg.Client): Promise<string | null> {
  const text = 'SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline';
  const { rows } = await client.query<{ timeline: string }>(text).catch(() => ({ rows: [] }));
  return rows[0]?.timeline ?? null;
}

/**
 * Tells which failures a confirmed commit survives: the end of a process, a power cut, or the loss of the machine. A standby counts only if
 * with every commit the server waits until the standby has written it to its disk.
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
