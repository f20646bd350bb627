import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, NotAvailable, runProgram, startProgram } from '../external-program.ts';
import type { Peer } from './peer.ts';

const debianPackage = 'rabbitmq-server';
/** The package's own start script; the one in the PATH insists on the system's user and directories. */
const command = process.env.BENCH_RABBITMQ_SERVER || '/usr/lib/rabbitmq/bin/rabbitmq-server';

/** RabbitMQ with quorum queues, whose confirms come after the fsync of the write-ahead log. */
export const rabbitMq: Peer = {
  name: 'rabbitmq',
  title: 'RabbitMQ, quorum queues',
  receiptMeans: 'fsynced',
  how: 'quorum queues of one node, one for the replies of each client; publisher confirms awaited concurrently; prefetch 512; a request is acked when its reply is confirmed, other messages with one ack for all of a turn (acks are not confirmed)',
  start: async (dir) => {
    await using opened = new AsyncDisposableStack();
    const [port, distPort, epmdPort] = [await freePort(), await freePort(), await freePort()];
    const config = join(dir, 'rabbitmq.conf');
    await writeFile(config, `listeners.tcp.default = 127.0.0.1:${port}\nlog.console.level = error\n`);
    await mkdir(join(dir, 'home'));
    // Erlang's port mapper would stay behind as a daemon, so the node gets one of its own, in the foreground.
    const mapper = { ERL_EPMD_PORT: `${epmdPort}`, ERL_EPMD_ADDRESS: '127.0.0.1' };
    opened.use(await startProgram({ command: 'epmd', args: [], debianPackage, env: mapper, port: epmdPort }));
    const env = {
      ...mapper,
      HOME: join(dir, 'home'),
      RABBITMQ_NODENAME: `bench-${port}@localhost`,
      RABBITMQ_DIST_PORT: `${distPort}`,
      RABBITMQ_CONFIG_FILE: config,
      RABBITMQ_CONF_ENV_FILE: join(dir, 'none.conf'),
      RABBITMQ_ENABLED_PLUGINS_FILE: join(dir, 'enabled_plugins'),
      RABBITMQ_MNESIA_BASE: join(dir, 'mnesia'),
      RABBITMQ_LOG_BASE: join(dir, 'log'),
      RABBITMQ_LOGS: '-',
      RABBITMQ_PID_FILE: join(dir, 'pid'),
    };
    await writeFile(env.RABBITMQ_ENABLED_PLUGINS_FILE, '[].\n');
    opened.use(await startProgram({ command, args: [], debianPackage, env, port, readyWithinMs: 90_000 }));
    const servers = opened.move();
    return {
      version: await versionOf(),
      facts: { url: `amqp://guest:guest@127.0.0.1:${port}` },
      [Symbol.asyncDispose]: () => servers.disposeAsync(),
    };
  },
  sides: async () => (await import('./rabbitmq-sides.ts')).rabbitMqSides,
};

async function versionOf(): Promise<string> {
  try {
    const told = await runProgram({ command: 'dpkg-query', args: ['-W', debianPackage] });
    return `RabbitMQ ${told.trim().split('\t')[1]}`;
  } catch (thrown) {
    if (thrown instanceof NotAvailable) return 'RabbitMQ';
    throw thrown;
  }
}
