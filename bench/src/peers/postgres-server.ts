import { chown, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { freePort, NotAvailable, runProgram, startProgram } from '../external-program.ts';
import type { PeerServers } from './peer.ts';

const debianPackage = 'postgresql';
const debianRoot = '/usr/lib/postgresql';

/** Starts PostgreSQL with its data in a directory. Rejects with `NotAvailable` where it is not installed. */
export async function startPostgresServer(dir: string): Promise<PeerServers> {
  const bin = await binaries();
  const user = await unprivilegedUser();
  const data = join(dir, 'data');
  await mkdir(data, { mode: 0o700 });
  // The server refuses to run as root, so root hands it a directory and runs it as the package's own user.
  if (user) for (const path of [dir, data]) await chown(path, user.uid, user.gid);
  const asUser = user ? { user } : {};
  await runProgram({
    command: join(bin, 'initdb'),
    args: ['-D', data, '-U', 'bench', '--auth=trust', '--encoding=UTF8', '--locale=C'],
    ...asUser,
  });
  const port = await freePort();
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    shared_buffers: '256MB',
    max_wal_size: '4GB',
    wal_level: 'minimal',
    max_wal_senders: 0,
  };
  const args = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
  const server = await startProgram({
    command: join(bin, 'postgres'),
    args: ['-D', data, ...args],
    cwd: data,
    port,
    stopSignal: 'SIGINT',
    ...asUser,
  });
  const url = `postgres://bench@127.0.0.1:${port}/postgres`;
  while (await isStartingUp(url)) await wait(50);
  const version = await runProgram({ command: join(bin, 'postgres'), args: ['--version'], ...asUser });
  return {
    version: `PostgreSQL ${version.match(/\d[\d.]*/)?.[0]}`,
    facts: { url },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** It takes connections before it serves them. */
async function isStartingUp(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
    await client.end();
    return false;
  } catch (thrown) {
    if ((thrown as { code?: string }).code !== '57P03') throw thrown;
    return true;
  }
}

/** Debian keeps them out of the PATH, a directory for each version. */
async function binaries(): Promise<string> {
  if (process.env.BENCH_POSTGRES_BIN) return process.env.BENCH_POSTGRES_BIN;
  const versions = await readdir(debianRoot).catch(() => []);
  const newest = versions.map(Number).sort((a, b) => b - a)[0];
  if (newest === undefined) {
    throw new NotAvailable(`PostgreSQL is not installed (Debian package ${debianPackage})`);
  }
  return join(debianRoot, `${newest}`, 'bin');
}

async function unprivilegedUser(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = async (flag: string): Promise<number> =>
    Number(await runProgram({ command: 'id', args: [flag, 'postgres'] }));
  try {
    return { uid: await idOf('-u'), gid: await idOf('-g') };
  } catch {
    throw new NotAvailable('PostgreSQL does not run as root, and there is no user "postgres" to run it as');
  }
}
