import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openPostgresStores } from '@signalbox/postgres';
import { PostgresDatabase } from '@signalbox/postgres/internal';
import type { StoreError } from '@signalbox/store/rules';
import { lastingPort, tempDir, testAuthority } from '@signalbox/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startInstalledPostgres } from '../support/postgres/postgres-server.ts';
import { serverUrl, testSchema } from '../support/postgres/test-store.ts';
import { startTwoBrokers } from '../support/postgres/two-brokers.ts';

const psql = '/usr/bin/psql';
const question = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()';

/** Starts a server with TLS whose certificate is for `localhost`, and one without. Some users may connect in one way only. */
async function startServers() {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const authority = await testAuthority();
  const { cert, key } = await authority.issue({ names: ['localhost'] });
  const write = async (name: string, text: string) => {
    const file = join(directory.path, name);
    await writeFile(file, text, { mode: 0o600 });
    // The server runs as another user if root starts it.
    if (process.getuid?.() === 0) await chown(file, 65_534, 65_534);
    return file;
  };
  await chmod(directory.path, 0o755);
  const files = {
    right: await write('right.crt', authority.ca),
    wrong: await write('wrong.crt', (await testAuthority('Somebody else')).ca),
  };
  const tls = {
    ssl: 'on',
    ssl_cert_file: await write('server.crt', cert),
    ssl_key_file: await write('server.key', key),
  };
  const start = async (settings: Record<string, string>) => {
    const port = await lastingPort();
    const server = starting.use(await startInstalledPostgres());
    await writeFile(
      join(server.data, 'pg_hba.conf'),
      'local all all trust\nhostssl all only_tls all trust\nhostnossl all only_plain all trust\nhost all postgres all trust\n',
    );
    await server.start({ ...settings, listen_addresses: '127.0.0.1', port: `${port}` });
    return port;
  };
  const ports = { tls: await start(tls), plain: await start({}) };
  await using admin = await testSchema(`postgres://postgres@localhost:${ports.tls}/postgres`);
  await admin.sql('CREATE ROLE only_tls LOGIN; CREATE ROLE only_plain LOGIN');
  const resources = starting.move();
  return { files, ports, home: directory.path, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Tells how a connection was made. */
type Made = 'encrypted' | 'plain' | 'refused';

/** Asks Signalbox's own connection. */
async function ours(url: string): Promise<Made> {
  await using database = new PostgresDatabase({ url, schema: 'signalbox', broker: 'one', patienceMs: 0 });
  try {
    const [row] = await database.read<{ ssl: boolean }>(database.unnamed(question));
    return row?.ssl ? 'encrypted' : 'plain';
  } catch {
    return 'refused';
  }
}

/** Asks PostgreSQL's own program. */
async function theirs(url: string, home: string): Promise<Made> {
  try {
    const { stdout } = await promisify(execFile)(psql, [url, '-XAtc', question], { env: { HOME: home } });
    return stdout.trim() === 't' ? 'encrypted' : 'plain';
  } catch {
    return 'refused';
  }
}

const modes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];
const [p, e, r] = ['plain', 'encrypted', 'refused'] as const;

describe.skipIf(serverUrl === undefined)('sslmode in the address of a database', () => {
  let servers: Awaited<ReturnType<typeof startServers>>;

  beforeAll(async () => {
    servers = await startServers();
  });

  afterAll(() => servers[Symbol.asyncDispose]());

  it('means what it means to psql, for every mode and authority, and whatever the server lists', async () => {
    const { files, ports, home } = servers;
    const rows = [
      ['tls', 'postgres@localhost', undefined, [p, p, e, e, r, r]],
      ['tls', 'postgres@localhost', files.right, [p, p, e, e, e, e]],
      ['tls', 'postgres@127.0.0.1', files.right, [p, p, e, e, e, r]],
      ['tls', 'postgres@localhost', files.wrong, [p, p, p, r, r, r]],
      ['tls', 'only_tls@localhost', files.right, [r, e, e, e, e, e]],
      ['tls', 'only_plain@localhost', files.right, [p, p, p, r, r, r]],
      ['plain', 'postgres@localhost', files.right, [p, p, p, r, r, r]],
    ] as const;
    for (const [server, who, file, expected] of rows) {
      const root = file === undefined ? '' : `&sslrootcert=${encodeURIComponent(file)}`;
      const urls = modes.map((mode) => `postgres://${who}:${ports[server]}/postgres?sslmode=${mode}${root}`);
      const made = await Promise.all(urls.map(ours));
      expect([server, who, file, made]).toEqual([server, who, file, expected]);
      if (existsSync(psql)) expect(await Promise.all(urls.map((url) => theirs(url, home)))).toEqual(made);
    }
  });

  it('is kept by the connections of brokers, also by the one that waits for the others', async () => {
    const url = `postgres://postgres@localhost:${servers.ports.tls}/postgres?sslmode=verify-full&sslrootcert=${servers.files.right}`;
    await using site = await startTwoBrokers({}, { url });
    const query = `SELECT bool_and(s.ssl) AS encrypted, bool_or(a.query LIKE 'LISTEN%') AS listening
      FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) WHERE a.application_name = 'signalbox'`;
    expect(await site.schema.sql(query)).toEqual([{ encrypted: true, listening: true }]);
  });

  it('is refused with what to change where it could not be kept', async () => {
    const refusal = async (parameters: string) => {
      const url = `postgres://postgres@localhost:${servers.ports.tls}/postgres?${parameters}`;
      return openPostgresStores({ url, schema: 'signalbox', broker: 'one', patienceMs: 0 }).catch(
        ({ code, message }: StoreError) => `${code}: ${message}`,
      );
    };
    expect(await refusal('sslmode=verify-ca')).toMatch(/^store_refused: .*name.*sslrootcert/);
    expect(await refusal('sslmode=verify_full')).toMatch(/^store_refused: .*sslmode can't be 'verify_full'/);
    expect(await refusal('sslmode=require&sslrootcert=/absent.crt')).toMatch(
      /^store_refused: .*sslrootcert can't be read/,
    );
    expect(await refusal(`sslmode=verify-full&sslrootcert=${servers.files.wrong}`)).toMatch(
      /^store_unavailable: .*TLS with sslmode=verify-full failed/,
    );
  });
});
