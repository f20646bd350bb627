import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, NotAvailable, runProgram, startProgram } from '../external-program.ts';
import type { Peer } from './peer.ts';

const debianPackage = 'nats-server';
/** Debian's server may be too old for `sync_interval`; a newer one can be named. */
const command = process.env.BENCH_NATS_SERVER || 'nats-server';

/** NATS JetStream with file storage. `default` leaves fsync to a timer of two minutes, `always` does it before each answer. */
export function natsJetStream(sync: 'default' | 'always'): Peer {
  return {
    name: sync === 'default' ? 'nats' : 'nats-always',
    title: `NATS JetStream, ${sync === 'default' ? 'default' : 'sync always'}`,
    receiptMeans: sync === 'always' ? 'fsynced' : 'written',
    how: 'file streams with work-queue retention, publishes awaited concurrently, pull consumers with callbacks and 500 messages ahead, explicit acks (which JetStream does not confirm); one replica',
    start: async (dir) => {
      const version = (await runProgram({ command, args: ['--version'], debianPackage })).trim();
      const port = await freePort();
      const file = join(dir, 'nats.conf');
      await writeFile(file, configuration({ port, dir, sync }));
      if (sync === 'always') await requireSyncInterval(file, version);
      const server = await startProgram({ command, args: ['-c', file], debianPackage, port });
      return {
        version: version.replace('nats-server: v', 'NATS '),
        facts: { url: `nats://127.0.0.1:${port}` },
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
    sides: async () => (await import('./nats-sides.ts')).natsSides,
  };
}

/** `max_pending` is what may wait for one connection; 400 large messages are more than the default of 64 MB. */
function configuration({ port, dir, sync }: { port: number; dir: string; sync: string }): string {
  return `listen: "127.0.0.1:${port}"
max_pending: 1GB
jetstream {
  store_dir: ${JSON.stringify(dir)}
  max_file_store: 64GB
  ${sync === 'always' ? 'sync_interval: always' : ''}
}
`;
}

async function requireSyncInterval(file: string, version: string): Promise<void> {
  try {
    await runProgram({ command, args: ['-c', file, '-t'] });
  } catch (thrown) {
    if (!`${thrown}`.includes('sync_interval')) throw thrown;
    throw new NotAvailable(
      `${version} cannot fsync before it answers (sync_interval came with 2.10); name a newer server in BENCH_NATS_SERVER`,
    );
  }
}
