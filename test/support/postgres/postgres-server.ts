import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { installedPostgres, type PostgresBinaries, packedPostgres } from './postgres-binaries.ts';

const run = promisify(execFile);

/** How a server ends: `fast` closes its connections and writes everything; `immediate` is what a crash does. */
type StopMode = 'fast' | 'immediate';

/** A PostgreSQL of a test, with data of its own, which it removes when it is disposed. */
export interface PostgresServer extends AsyncDisposable {
  /** The address of its superuser, over a Unix socket. */
  readonly url: string;
  /** The folder of its data. */
  readonly data: string;
  stop(mode: StopMode): Promise<void>;
  /** Starts the server again, on the same data. Resolves when it takes connections. */
  start(settings?: Readonly<Record<string, string>>): Promise<void>;
}

export interface PostgresOptions {
  /** Settings of `postgresql.conf`. */
  settings?: Readonly<Record<string, string>>;
  /** A version that Debian installed. Default: that of the package. */
  version?: number;
}

/** Starts PostgreSQL. Returns `undefined` where it is not installed. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer | undefined> {
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-pg-'));
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
  { settings = {} }: PostgresOptions,
): Promise<PostgresServer> {
  const home = join(directory, 'server');
  const data = join(home, 'data');
  const { user } = binaries;
  await mkdir(home);
  if (user) {
    await chown(home, user.uid, user.gid);
    await chown(directory, user.uid, user.gid);
  }
  await run(binaries.initdb, ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'], {
    ...user,
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    cwd: home,
  });
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
  const url = `postgres://postgres@localhost/postgres?host=${encodeURIComponent(home)}`;
  return {
    url,
    data,
    stop,
    start,
    async [Symbol.asyncDispose]() {
      process.off('exit', killAtExit);
      await stop('immediate');
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Resolves when the server takes connections. */
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
    if (line.includes('ready to accept connections')) resolve();
  });
  child.on('exit', (code) => reject(new Error(`PostgreSQL ended with code ${code}:\n${said.join('\n')}`)));
  await promise;
  return child;
}
