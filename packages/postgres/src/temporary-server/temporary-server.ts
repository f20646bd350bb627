import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { Connection } from '../database/connection.ts';
import { journalSchemaOf } from '../settings/names.ts';
import { installedPostgres, type PostgresBinaries, packedPostgres } from './binaries.ts';

const run = promisify(execFile);

/** The way in which a server ends: `fast` closes its connections and writes everything; `immediate` ends it like a crash. */
type StopMode = 'fast' | 'immediate';

/** A PostgreSQL server of a test or a demo, with data of its own, which it removes when it is disposed. */
export interface PostgresServer extends AsyncDisposable {
  /** The address of its superuser, over a Unix socket. */
  readonly url: string;
  /** The folder of its data. */
  readonly data: string;
  stop(mode: StopMode): Promise<void>;
  /** Starts the server again, on the same data. Resolves when it accepts connections. */
  start(settings?: Readonly<Record<string, string>>): Promise<void>;
  /**
   * Makes a standby that follows this server under a name: with `pg_basebackup`, or, if that is not installed, from a copy of this server's
   * data, for which this server is restarted. Its settings are those of this server unless it has its own.
   */
  standby(name: string, settings?: Readonly<Record<string, string>>): Promise<PostgresServer>;
}

export interface PostgresOptions {
  /** Settings of `postgresql.conf`. */
  settings?: Readonly<Record<string, string>>;
  /** A version that Debian installed. Default: that of the package. */
  version?: number;
  /** The password of the superuser. Without one, everybody who reaches the socket may connect. */
  password?: string;
}

/** Starts PostgreSQL. Returns `undefined` if it is not installed. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer | undefined> {
  const directory = await mkdtemp(join(await reachableFolder(), 'signalbox-pg-'));
  const { version } = options;
  try {
    const binaries = version === undefined ? await packedPostgres(directory) : installedPostgres(version);
    if (binaries) return await makeServer(binaries, directory, options);
  } catch (error) {
    await rm(directory, { recursive: true });
    throw error;
  }
  await rm(directory, { recursive: true });
  return undefined;
}

async function makeServer(
  binaries: PostgresBinaries,
  directory: string,
  { settings = {}, password }: PostgresOptions,
): Promise<PostgresServer> {
  const home = await makeHome(binaries, directory, 'server');
  const access = ['-A', 'trust'];
  if (password !== undefined) {
    await writeFile(join(home, 'password'), password);
    access.splice(0, 2, '-A', 'scram-sha-256', `--pwfile=${join(home, 'password')}`);
  }
  await run(
    binaries.initdb,
    ['-D', join(home, 'data'), '-U', 'postgres', ...access, '-E', 'UTF8', '--no-sync'],
    {
      ...binaries.user,
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
      cwd: home,
    },
  );
  const removed = () => rm(directory, { recursive: true, force: true });
  return runServer(binaries, home, { directory, settings, removed });
}

/** Makes a folder to which the server's user can write. */
async function makeHome({ user }: PostgresBinaries, directory: string, name: string): Promise<string> {
  const home = join(directory, name);
  await mkdir(home);
  for (const path of user ? [home, directory] : []) await chown(path, user!.uid, user!.gid);
  return home;
}

async function runServer(
  binaries: PostgresBinaries,
  home: string,
  {
    directory,
    settings,
    removed,
  }: { directory: string; settings: Readonly<Record<string, string>>; removed: () => Promise<void> },
): Promise<PostgresServer> {
  const data = join(home, 'data');
  let child: ChildProcess | undefined;
  const stop = async (mode: StopMode): Promise<void> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await ended;
  };
  const start = async (changed: Readonly<Record<string, string>> = {}): Promise<void> => {
    await stop('fast');
    child = await startProcess(binaries, home, { ...settings, ...changed });
  };
  const killAtExit = (): void => {
    child?.kill('SIGQUIT');
  };
  process.on('exit', killAtExit);
  await start();
  return {
    url: `postgres://postgres@localhost/postgres?host=${encodeURIComponent(home)}`,
    data,
    stop,
    start,
    standby: async (name, own = settings) => {
      const other = await makeHome(binaries, directory, name);
      if (binaries.basebackup !== undefined) {
        const arguments_ = ['-D', join(other, 'data'), '-d', `host=${home} user=postgres`, '-c', 'fast'];
        await run(binaries.basebackup, arguments_, { ...binaries.user, cwd: other });
      } else {
        await stop('fast');
        await run('cp', ['-a', data, join(other, 'data')]);
        await start();
      }
      await writeFile(join(other, 'data', 'standby.signal'), '');
      const primary = `host=${home} user=postgres application_name=${name}`;
      return runServer(binaries, other, {
        directory,
        settings: { ...own, primary_conninfo: primary },
        removed: async () => {},
      });
    },
    async [Symbol.asyncDispose]() {
      process.off('exit', killAtExit);
      await stop('immediate');
      await removed();
    },
  };
}

/** Starts a server process. Resolves when it accepts connections. */
async function startProcess(
  { postgres, user }: PostgresBinaries,
  home: string,
  settings: Readonly<Record<string, string>>,
): Promise<ChildProcess> {
  const all = { unix_socket_directories: home, listen_addresses: '', max_connections: '60', ...settings };
  const options = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(postgres, ['-D', join(home, 'data'), ...options], {
    ...user,
    cwd: home,
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const said: string[] = [];
  const lines = createInterface({ input: child.stderr! });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  lines.on('line', (line) => {
    if (said.length < 50) said.push(line);
    if (/ready to accept (read-only )?connections/.test(line)) resolve();
  });
  child.on('exit', (code) => reject(new Error(`PostgreSQL ended with code ${code}:\n${said.join('\n')}`)));
  await promise;
  return child;
}

/** Returns a folder for temporary files that every user can reach, because a root's server runs as another user. */
async function reachableFolder(): Promise<string> {
  for (const folder of [tmpdir(), '/tmp', '/var/tmp']) if (await canBeEntered(folder)) return folder;
  return tmpdir();
}

/** Tells whether other users may go through a folder and all those above it. */
async function canBeEntered(folder: string): Promise<boolean> {
  const mode = await stat(folder).then(
    (found) => found.mode,
    () => 0,
  );
  if ((mode & 0o001) === 0) return false;
  return folder === dirname(folder) || (await canBeEntered(dirname(folder)));
}

/** Drops the schema of brokers and that of the orchestrators' journal beside it, with all content. */
export async function dropSchema({ url, schema }: { url: string; schema: string }): Promise<void> {
  const connection = await Connection.open(url, {}, { usesIndexes: false, openedAt: 0 });
  try {
    await connection.run(`DROP SCHEMA IF EXISTS "${schema}", "${journalSchemaOf(schema)}" CASCADE`);
  } finally {
    await connection.close();
  }
}
