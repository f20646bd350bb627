import pg from 'pg';
import { signalboxOnPostgres } from '../peers/signalbox.ts';
import { openPeer } from '../running-peer.ts';
import { workloads } from '../workloads.ts';
import type { TableState, TurnoverReport } from './brokers-report.ts';

const secondsPerRun = 60;
const shownTables = 8;

/** Has requests answered through a broker at full rate, and looks each minute at what is left in the tables. */
export async function measureTurnover(
  minutes: number,
  tell: (line: string) => void,
): Promise<TurnoverReport> {
  await using peer = await openPeer(signalboxOnPostgres(1));
  const client = new pg.Client({ connectionString: peer.facts.database! });
  await client.connect();
  try {
    const workload = workloads.find(({ name }) => name === 'request/64/300B')!;
    const perSecond: number[] = [];
    const tables: TableState[][] = [];
    for (let minute = 1; minute <= minutes; minute++) {
      const run = await peer.run(workload, secondsPerRun);
      perSecond.push(run.perSecond);
      tables.push(await tablesOf(client));
      const dead = tables.at(-1)!.reduce((sum, { deadRows }) => sum + deadRows, 0);
      tell(`minute ${minute}: ${run.perSecond.toFixed(0)} requests a second, ${dead} dead rows`);
    }
    const { rows } = await client.query<{ autovacuums: number }>(
      `SELECT sum(autovacuum_count)::int AS autovacuums FROM pg_stat_user_tables WHERE schemaname = 'signalbox'`,
    );
    return { perSecond, tables, autovacuums: rows[0]?.autovacuums ?? 0 };
  } finally {
    await client.end();
  }
}

/** The largest tables of the schema. */
async function tablesOf(client: pg.Client): Promise<TableState[]> {
  const { rows } = await client.query<TableState>(
    `SELECT relname AS table, n_live_tup::int AS "liveRows", n_dead_tup::int AS "deadRows", pg_total_relation_size(relid)::float8 AS bytes
     FROM pg_stat_user_tables WHERE schemaname = 'signalbox' ORDER BY bytes DESC, relname LIMIT ${shownTables}`,
  );
  return rows;
}
