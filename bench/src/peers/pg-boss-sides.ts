import pg from 'pg';
import { type ConstructorOptions, type Job, PgBoss, type WorkOptions } from 'pg-boss';
import type { Body, PeerSides } from './peer.ts';
import { takenAtOnce } from './postgres-queries.ts';
import { batched } from './postgres-sides.ts';
import { Replies } from './replies.ts';

/** A job of the queue `requests`; `client` says who gets the reply. */
interface Request {
  client: string;
  body: Body;
}

const takesMany: WorkOptions = { batchSize: takenAtOnce, burstWhenBatchFull: true };
const queues = ['pile', 'sink', 'requests'] as const;

export const pgBossSides: PeerSides = {
  async prepare({ url }) {
    await using boss = await open(url, { migrate: true });
    for (const name of queues) await boss.createQueue(name, { notify: name !== 'pile' });
  },

  async openClient({ url }, id) {
    const boss = await open(url);
    const replies = new Replies();
    await boss.createQueue(repliesTo(id), { notify: true });
    await boss.work(repliesTo(id), takesMany, async (jobs: Job<Body>[]) => {
      for (const { data } of jobs) replies.take(data);
    });
    const insertInto = (queue: string) =>
      batched<object>((all) =>
        boss.insert(
          queue,
          all.map((data) => ({ data })),
        ),
      );
    const inserts = {
      pile: insertInto('pile'),
      sink: insertInto('sink'),
      requests: insertInto('requests'),
    };
    return {
      enqueue: (to, body) => inserts[to](body),
      request: async (body) => {
        const reply = replies.wait(body.n);
        await inserts.requests({ client: id, body } satisfies Request);
        return reply;
      },
      [Symbol.asyncDispose]: () => boss[Symbol.asyncDispose](),
    };
  },

  async openConsumer({ url }, onAcked) {
    const boss = await open(url);
    await boss.work('requests', takesMany, async (jobs: Job<Request>[]) => {
      const byClient = Map.groupBy(jobs, ({ data }) => data.client);
      for (const [client, its] of byClient)
        await boss.insert(
          repliesTo(client),
          its.map(({ data }) => ({ data: data.body })),
        );
    });
    await boss.work('sink', takesMany, async (jobs: Job<Body>[]) => {
      // The library tells nobody when it has completed jobs, so that this is done here, before it finds nothing to complete.
      await boss.complete(
        'sink',
        jobs.map(({ id }) => id),
      );
      for (const { data } of jobs) onAcked(data.n);
    });
    return { [Symbol.asyncDispose]: () => boss[Symbol.asyncDispose]() };
  },

  async tidy({ url }) {
    await using boss = await open(url);
    await boss.deleteAllJobs('pile');
    const connection = new pg.Client({ connectionString: url });
    await connection.connect();
    await connection.query('VACUUM');
    await connection.end();
  },
};

function repliesTo(client: string): string {
  return `replies_${client}`;
}

/** Starts an instance that only sends and works, unless told otherwise. */
async function open(connectionString: string, options: ConstructorOptions = {}) {
  const boss = new PgBoss({
    connectionString,
    useListenNotify: true,
    schedule: false,
    supervise: false,
    migrate: false,
    ...options,
  });
  boss.on('error', (error) => {
    throw error;
  });
  await boss.start();
  return Object.assign(boss, { [Symbol.asyncDispose]: () => boss.stop({ close: true, graceful: true }) });
}
