import { type PostgresServer, startPostgres } from '@signalbox/postgres/temporary-server';

export { startPostgres };

/** True if there is a package with PostgreSQL for this system, so that it should be installed. */
export const isPackaged = process.platform === 'linux' && process.arch === 'x64';

/** Starts PostgreSQL. Throws, with what to do, where it is not installed. */
export async function startInstalledPostgres(): Promise<PostgresServer> {
  const server = await startPostgres();
  if (server) return server;
  throw new Error('PostgreSQL is not installed: run npm ci without --omit=optional, on Linux x64');
}
