import { readdir, readFile, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCodes } from '@signalbox/protocol';
import { SampleKeeper } from '@signalbox/serving/monitoring';
import { brokerFiles } from '../broker-files.ts';
import type { BrokerSettings } from '../broker-options.ts';
import { Metrics, type MetricsDeps } from './metrics.ts';
import { OrchestratorReports } from './orchestrator-reports.ts';
import { PendingByRole, type PendingByRoleDeps } from './pending-by-role.ts';

/** Facts about a broker as a process. */
export interface BrokerSelf {
  version: string;
  /** Epoch milliseconds. */
  startedAt: number;
  /** Returns the bytes of the databases in the data directory, with their logs. */
  diskBytes: () => Promise<number>;
  /** Returns the free bytes on the disk of the data directory. */
  freeBytes: () => Promise<number>;
}

/** The parts that know the figures of the broker and of its orchestrators. */
export interface MetricsParts {
  metrics: Metrics;
  /** Keeps samples of these figures for a day. */
  samples: SampleKeeper;
  reports: OrchestratorReports;
  /** Counts the waiting messages by the roles of their recipients. */
  pending: PendingByRole;
  /** Facts about this broker as a process. */
  self: BrokerSelf;
}

/** The codes with which frames, connections and HTTP requests are refused. */
const refusalCodes: readonly string[] = [
  ...Object.keys(errorCodes),
  'forbidden_origin',
  'forbidden_host',
  'bad_subprotocol',
  'not_found',
];

/** The parts that are measured. */
type Measured = Omit<MetricsDeps, keyof MetricsParts | 'codes' | 'limits' | 'monotonic'> &
  Omit<PendingByRoleDeps, 'now'>;

/** Makes the parts of this feature. */
export async function measure(
  { dataDir, limits, now, monotonic, log }: BrokerSettings,
  measured: Measured,
): Promise<MetricsParts> {
  const self = {
    version: await ownVersion(),
    startedAt: now(),
    diskBytes: () => diskBytes(dataDir),
    freeBytes: () => freeBytes(dataDir),
  };
  const reports = new OrchestratorReports({ monotonic, log });
  const pending = new PendingByRole({ ...measured, now });
  const parts = { self, reports, pending };
  const metrics = new Metrics({ ...measured, ...parts, limits, codes: refusalCodes, monotonic });
  await metrics.measureStore();
  const samples = await SampleKeeper.open({
    file: brokerFiles(dataDir).samples,
    collect: () => metrics.sampled(),
    now,
    monotonic,
    warn: (event, message) => log({ level: 'warn', event, message }),
  });
  return { ...parts, metrics, samples };
}

/**
 * Returns the version of the running package: the broker's, or that of the command into which it is bundled. Both have their modules two
 * levels below `package.json`.
 */
async function ownVersion(): Promise<string> {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(await readFile(file, 'utf8')) as { version: string }).version;
}

async function diskBytes(directory: string): Promise<number> {
  const names = (await readdir(directory)).filter((name) => /\.db(-wal)?$/.test(name));
  // A log may be removed meanwhile.
  const sizes = names.map((name) =>
    stat(join(directory, name)).then(
      ({ size }) => size,
      () => 0,
    ),
  );
  return (await Promise.all(sizes)).reduce((total, size) => total + size, 0);
}

async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
