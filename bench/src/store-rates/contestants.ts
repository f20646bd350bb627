import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';
import type { Measurement } from '../measure.ts';
import { type Child, startProcess } from '../processes.ts';
import type { Workload } from '../workloads.ts';
import type { StoreRun } from './stores-report.ts';

/** `store` is our store on PostgreSQL, `queue` a hand-written queue, and `keeping` one with the same promise as ours. */
export type ContestantKind = 'sqlite' | 'store' | 'queue' | 'keeping';

const titles: Readonly<Record<ContestantKind, string>> = {
  sqlite: 'our store on SQLite',
  store: 'our store on PostgreSQL',
  queue: 'SKIP LOCKED queue',
  keeping: 'SKIP LOCKED queue with ids, caps and history',
};

export interface ContestantSetup {
  kind: ContestantKind;
  /** The folder for files. */
  dir: string;
  /** The database of the contestant. */
  url: string;
  schema: string;
  /** The address of the module with the store. */
  storePackage: string;
}

export interface Contestant extends AsyncDisposable {
  name: string;
  title: string;
  run(workload: Workload, seconds: number): Promise<StoreRun>;
}

/** Opens a contestant with a database of its own on the server. `root` is that of the checkout whose store it is. */
export async function openContestant(
  name: string,
  kind: ContestantKind,
  { dir, url, root, dataDir }: { dir: string; url: string; root: URL; dataDir: string },
): Promise<Contestant> {
  const database = `bench_${name.replaceAll('-', '_')}`;
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${database}`);
  await admin.end();
  const own = new URL(url);
  own.pathname = `/${database}`;
  const storePackage = new URL('packages/postgres/dist/index.js', root).href;
  const setup: ContestantSetup = { kind, dir, url: own.href, schema: 'signalbox', storePackage };
  const child = await startProcess(new URL('store-process.ts', import.meta.url), setup);
  return {
    name,
    title: titles[kind] + (root === thisRoot ? '' : ', before'),
    run: (workload, seconds) => run(child, workload, seconds, dataDir),
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

async function run(child: Child, workload: Workload, seconds: number, dataDir: string): Promise<StoreRun> {
  const before = await serverCpuMicros(dataDir);
  type Told = Measurement & { operations: number; cpuMicros: number };
  const { operations, cpuMicros, ...measured } = await child.ask<Told>(
    { workload, seconds },
    seconds * 1000 + 60_000,
  );
  const server = (await serverCpuMicros(dataDir)) - before;
  return { ...measured, clientMicros: cpuMicros / operations, serverMicros: server / operations };
}

const microsPerTick = 10_000;

/** The processor time of PostgreSQL's processes. Connections that were closed meanwhile do not count. */
async function serverCpuMicros(dataDir: string): Promise<number> {
  const [pid] = (await readFile(`${dataDir}/postmaster.pid`, 'utf8')).split('\n');
  let ticks = 0;
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => undefined);
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields && (name === pid || fields[1] === pid)) ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks * microsPerTick;
}

/** The root of this checkout. */
export const thisRoot = new URL('../../../', import.meta.url);
