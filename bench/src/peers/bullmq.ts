import type { Peer } from './peer.ts';
import { startRedis } from './redis.ts';

/** BullMQ on a Redis of its own, with the persistence that its documentation asks for. */
export const bullMq: Peer = {
  name: 'bullmq',
  title: 'BullMQ, fsync every second',
  receiptMeans: 'written',
  how: 'Queue.add with job ids of our own, a Worker with concurrency 64, results through QueueEvents; finished jobs are removed at once',
  start: async (dir) => {
    const server = await startRedis(dir, 'everysec');
    const { port, version } = server;
    return {
      version,
      facts: { url: `redis://127.0.0.1:${port}` },
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
  sides: async () => (await import('./bullmq-sides.ts')).bullMqSides,
};
