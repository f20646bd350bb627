import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { acceptClock } from '@signalbox/client/operator';
import type { PostgresServer } from '@signalbox/postgres/temporary-server';
import { type BrokerReady, type Child, type ChildEnd, lastingPort, startChild } from '@signalbox/testing';
import pg from 'pg';
import { startDaemon } from '../../support/cli/command-line.ts';
import { type SteppedClock, steppedClock } from '../../support/clocks/stepped-clock.ts';
import { type CuttingProxy, startCuttingProxy } from '../../support/postgres/cutting-proxy.ts';
import { readToken } from '../agents.ts';
import { type RestartingProcess, startRestarting } from '../restarting-process.ts';

const brokerMain = new URL('../../support/postgres/broker-main.ts', import.meta.url);
const schema = 'signalbox';

/** The lease of a broker and its longest time between two pings, in milliseconds. */
export interface BrokerTimes {
  leaseMs: number;
  heartbeatMs: number;
}

/** A broker of the site, with its own way to the database and its own clock. */
export interface SiteBroker {
  readonly name: string;
  readonly url: string;
  readonly process: RestartingProcess<BrokerReady>;
  readonly proxy: CuttingProxy;
  readonly clock: SteppedClock;
  readonly operatorToken: string;
}

/** Two brokers on one PostgreSQL, as processes that are started again when they end. */
export interface Site extends AsyncDisposable {
  /** Keeps the files of the brokers and their logs. */
  readonly directory: string;
  readonly server: PostgresServer;
  readonly schema: string;
  readonly brokers: readonly SiteBroker[];
  /** The addresses of both brokers. */
  readonly url: string;
  /** The times with which brokers are started from now on; `command`: by the command `signalbox broker`, with its default times. */
  times: BrokerTimes | 'command';
  /** Keeps the directory when the site is disposed. */
  keepFiles(): void;
  /** Returns the broker that holds an inbox. */
  holderOf(inbox: string): Promise<SiteBroker | undefined>;
  /** Tells whether the incarnations of both brokers live, by the clock of the database. */
  allLive(): Promise<boolean>;
  /** Ends every connection of the brokers. Returns how many there were. */
  endConnections(): Promise<number>;
  /** Resolves when both brokers are up. */
  up(): Promise<void>;
}

export interface SiteEvents {
  onDeath: (broker: string, end: ChildEnd, stderr: string) => void;
}

/** Starts two brokers on a server, which outlives them. */
export async function startSite(
  server: PostgresServer,
  times: BrokerTimes | 'command',
  { onDeath }: SiteEvents,
): Promise<Site> {
  await using starting = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-campaign-'));
  let isKept = false;
  starting.defer(async () => {
    if (!isKept) await rm(directory, { recursive: true, force: true });
  });
  const state = { times };
  const start = async (name: string): Promise<SiteBroker> => {
    const folder = join(directory, name);
    await mkdir(folder);
    const port = await lastingPort();
    const proxy = starting.use(await startCuttingProxy(server.url));
    const clock = steppedClock(join(folder, 'clock'));
    const place: BrokerPlace = { name, folder, port, url: proxy.url, env: clock.env };
    const broker = starting.use(
      await startRestarting<BrokerReady>({
        name,
        start: () => (state.times === 'command' ? startCommand(place) : startLibrary(place, state.times)),
        // A broker that ends at its start, because the database is away, is started again.
        retryMs: 200,
        onDeath: (end, _at, stderr) => onDeath(name, end, stderr),
      }),
    );
    const { url, operatorTokenFile } = (await broker.ready()).ready;
    return { name, url, process: broker, proxy, clock, operatorToken: await readToken(operatorTokenFile) };
  };
  const brokers = [await start('one'), await start('other')];
  const query = async <Row extends object>(sql: string): Promise<Row[]> => {
    const client = new pg.Client({ connectionString: server.url });
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query<Row>(sql)).rows;
    } finally {
      await client.end().catch(() => {});
    }
  };
  const resources = starting.move();
  return {
    directory,
    server,
    schema,
    brokers,
    url: brokers.map(({ url }) => url).join(','),
    get times() {
      return state.times;
    },
    set times(changed) {
      state.times = changed;
    },
    keepFiles: () => {
      isKept = true;
    },
    async holderOf(inbox) {
      const [row] = await query<{ broker: string }>(
        `SELECT s.broker FROM ${schema}.inbox i JOIN ${schema}.incarnation s ON s.epoch = i.incarnation WHERE i.name = '${inbox}'`,
      );
      return brokers.find(({ name }) => name === row?.broker);
    },
    async allLive() {
      const living = await query(`SELECT FROM ${schema}.incarnation WHERE alive_until > clock_timestamp()`);
      return living.length === brokers.length;
    },
    async endConnections() {
      const ended = await query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'signalbox'`,
      );
      return ended.length;
    },
    up: async () => {
      await Promise.all(brokers.map((broker) => broker.process.ready()));
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** The files of a broker, its port, and its way to the database. */
interface BrokerPlace {
  name: string;
  folder: string;
  port: number;
  url: string;
  env: Readonly<Record<string, string>>;
}

function startLibrary(
  { name, folder, port, url, env }: BrokerPlace,
  times: BrokerTimes,
): Promise<Child<BrokerReady>> {
  const files = { dataDir: join(folder, 'data'), logFile: join(folder, 'broker.log') };
  const database = { broker: name, owner: name, url, schema };
  return startChild(brokerMain, {
    args: [JSON.stringify({ ...files, port, ...database, ...times, isWallClockWrong: true })],
    env,
  });
}

async function startCommand({ name, folder, port, url, env }: BrokerPlace): Promise<Child<BrokerReady>> {
  const file = join(folder, 'signalbox.yaml');
  await writeFile(
    file,
    JSON.stringify({
      broker: {
        listen: `127.0.0.1:${port}`,
        data: join(folder, 'data'),
        store: { postgres: `\${env:CAMPAIGN_POSTGRES}`, schema, name },
      },
    }),
  );
  const broker = await startDaemon(['broker', '--config', file], { env: { ...env, CAMPAIGN_POSTGRES: url } });
  const exited = broker.ended.then((code): ChildEnd => ({ code, signal: code === null ? 'SIGKILL' : null }));
  const end = async (signal: NodeJS.Signals): Promise<ChildEnd> => {
    await broker.stop(signal);
    return exited;
  };
  return {
    pid: broker.pid,
    ready: { ...(broker.ready as BrokerReady), port },
    exited,
    stderr: broker.stderr,
    send: () => {},
    arm: async () => {},
    end,
    [Symbol.asyncDispose]: async () => void (await end('SIGKILL')),
  };
}

/** Makes a broker accept its clock, right or wrong. */
export async function trustClock({ url, operatorToken: token }: SiteBroker): Promise<void> {
  await using operator = await connectBroker({ url, token, agent: 'operator#clock' });
  await acceptClock(operator);
}
