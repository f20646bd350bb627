import bundle from '../bundles.ts';
import { isPackaged, startPostgres } from './postgres-server.ts';

/** The variable with the address of the server of the tests, where somebody names one. */
export const serverVariable = 'SIGNALBOX_TEST_POSTGRES';

/** Starts one PostgreSQL for all test files, unless a server is named, and bundles meanwhile what they start. */
export default async function startWhileBundling(): Promise<(() => Promise<void>) | undefined> {
  const [started, bundled] = await Promise.allSettled([startOneServer(), bundle()]);
  const stop = started.status === 'fulfilled' ? started.value : undefined;
  for (const outcome of [started, bundled]) {
    if (outcome.status === 'fulfilled') continue;
    await stop?.();
    throw outcome.reason;
  }
  return stop;
}

/** Fails where PostgreSQL should be installed and is not. */
async function startOneServer(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[serverVariable] !== undefined) return undefined;
  const server = await startPostgres();
  if (server) {
    process.env[serverVariable] = server.url;
    return async () => {
      await server[Symbol.asyncDispose]();
    };
  }
  if (isPackaged)
    throw new Error(
      `PostgreSQL is not installed: run npm ci without --omit=optional, or name a server with ${serverVariable}=postgres://…`,
    );
  return undefined;
}
