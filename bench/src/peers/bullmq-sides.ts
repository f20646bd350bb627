import { type Job, Queue, QueueEvents, Worker } from 'bullmq';
import type { Body, PeerSides } from './peer.ts';
import { redisSides } from './redis-sides.ts';
import { Replies } from './replies.ts';

const concurrency = 64;
const jobOptions = { removeOnComplete: true, removeOnFail: true };

export const bullMqSides: PeerSides = {
  prepare: async () => {},

  // Job.waitUntilFinished asks Redis once more for each job; a job id that is known before the job is needs no question.
  async openClient({ url }, id) {
    const connection = { url };
    const open = (name: string) => new Queue(name, { connection });
    const queues = { pile: open('pile'), sink: open('sink'), requests: open('requests') };
    const results = new QueueEvents('requests', { connection });
    const replies = new Replies();
    results.on('completed', ({ jobId, returnvalue }) => {
      // Each client hears of everybody's jobs.
      if (jobId.startsWith(`${id}-`)) replies.take(returnvalue as unknown as Body);
    });
    await results.waitUntilReady();
    return {
      enqueue: (to, body) => queues[to].add('message', body, jobOptions),
      request: async (body) => {
        const reply = replies.wait(body.n);
        await queues.requests.add('request', body, { ...jobOptions, jobId: `${id}-${body.n}` });
        return reply;
      },
      [Symbol.asyncDispose]: async () => {
        await Promise.all([results, ...Object.values(queues)].map((part) => part.close()));
      },
    };
  },

  async openConsumer({ url }, onAcked) {
    const connection = { url };
    const requests = new Worker('requests', async ({ data }: Job<Body>) => data, { connection, concurrency });
    const sink = new Worker('sink', async (_job: Job<Body>) => {}, { connection, concurrency });
    sink.on('completed', ({ data }) => onAcked(data.n));
    await Promise.all([requests.waitUntilReady(), sink.waitUntilReady()]);
    return {
      [Symbol.asyncDispose]: async () => {
        await Promise.all([requests.close(), sink.close()]);
      },
    };
  },

  async tidy(facts) {
    const pile = new Queue('pile', { connection: { url: facts.url } });
    await pile.obliterate({ force: true });
    await pile.close();
    await redisSides.tidy(facts);
  },
};
