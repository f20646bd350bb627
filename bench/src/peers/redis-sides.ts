import { setTimeout as wait } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Body, Facts, PeerSides } from './peer.ts';
import { Replies } from './replies.ts';

const group = 'consumers';
const batch = 256;
const rewriteAboveBytes = 512 * 2 ** 20;

/** `[id, [field, value, …]]` */
type Entry = [id: string, fields: string[]];

export const redisSides: PeerSides = {
  async prepare({ url }) {
    const redis = connect(url);
    for (const stream of ['requests', 'sink']) await redis.xgroup('CREATE', stream, group, '0', 'MKSTREAM');
    redis.disconnect();
  },

  // A blocking read holds its connection, so a client has two. The other sends the commands of one turn together.
  async openClient(facts, id) {
    const { url } = facts;
    const redis = connect(url, { enableAutoPipelining: true });
    const add = adderOf(redis, facts);
    const reader = connect(url);
    const replies = new Replies();
    const stream = `replies:${id}`;
    const open = { is: true };
    void readReplies(reader, redis, stream, replies, open);
    return {
      enqueue: (to, body) => add(to, `${id}:${body.n}`, 'body', JSON.stringify(body)),
      request: async (body) => {
        const reply = replies.wait(body.n);
        const sent = `${id}:${body.n}`;
        await add('requests', sent, 'body', JSON.stringify(body), 'reply', stream, 'id', sent);
        return reply;
      },
      [Symbol.asyncDispose]: async () => {
        open.is = false;
        reader.disconnect();
        await redis.del(stream);
        redis.disconnect();
      },
    };
  },

  async openConsumer(facts, onAcked) {
    const { url } = facts;
    const redis = connect(url, { enableAutoPipelining: true });
    const add = adderOf(redis, facts);
    const [requests, sink] = [connect(url), connect(url)];
    const open = { is: true };
    const settle = (stream: string, ids: string[]): Promise<unknown>[] => [
      redis.xack(stream, group, ...ids),
      redis.xdel(stream, ...ids),
    ];
    void readGroup(requests, 'requests', open, (entries) => {
      // One pipeline: Redis stores the replies before it acks.
      const replied = entries.map(([, [, body, , reply, , id]]) =>
        add(reply!, `re:${id}`, 'body', echo(body!)),
      );
      return Promise.all([...replied, ...settle('requests', idsOf(entries))]);
    });
    void readGroup(sink, 'sink', open, async (entries) => {
      const numbers = entries.map(([, [, body]]) => (JSON.parse(body!) as Body).n);
      await Promise.all(settle('sink', idsOf(entries)));
      numbers.forEach(onAcked);
    });
    return {
      [Symbol.asyncDispose]: async () => {
        open.is = false;
        for (const connection of [requests, sink, redis]) connection.disconnect();
      },
    };
  },

  async tidy({ url }) {
    const redis = connect(url);
    await redis.del('pile');
    for await (const keys of redis.scanStream({ match: `${idPrefix}*`, count: 10_000 })) {
      if (keys.length > 0) await redis.unlink(...(keys as string[]));
    }
    const fact = async (name: string): Promise<number> =>
      Number((await redis.info('persistence')).match(new RegExp(`${name}:(\\d+)`))?.[1]);
    if ((await fact('aof_current_size')) > rewriteAboveBytes) {
      await redis.bgrewriteaof();
      while ((await fact('aof_rewrite_in_progress')) + (await fact('aof_rewrite_scheduled')) > 0)
        await wait(50);
    }
    redis.disconnect();
  },
};

/** Connects to Redis. A lost server ends the run; nothing waits for it. */
function connect(url: string, options: { enableAutoPipelining?: boolean } = {}): Redis {
  const redis = new Redis(url, { ...options, retryStrategy: () => null });
  redis.on('error', (error) => {
    throw error;
  });
  return redis;
}

/** Stores an entry in a stream. `id` identifies it among all that its sender sends again. */
type Add = (stream: string, id: string, ...fields: string[]) => Promise<unknown>;

/** Returns the way in which entries are stored: always, or only if their id is not known. */
function adderOf(redis: Redis, facts: Facts): Add {
  if (!facts.dedupe) return (stream, _id, ...fields) => redis.xadd(stream, '*', ...fields);
  redis.defineCommand('addOnce', { numberOfKeys: 2, lua: addOnce });
  const command = redis as Redis & { addOnce(...args: string[]): Promise<unknown> };
  return (stream, id, ...fields) => command.addOnce(stream, idPrefix + id, ...fields);
}

const idPrefix = 'id:';
const rememberedMs = 600_000;
const addOnce = `
if redis.call('SET', KEYS[2], '', 'NX', 'PX', ${rememberedMs}) then
  return redis.call('XADD', KEYS[1], '*', unpack(ARGV))
end
return 'duplicate'
`;

/** Does what any application does: it reads the JSON and answers with JSON. */
function echo(body: string): string {
  return JSON.stringify(JSON.parse(body));
}

function idsOf(entries: Entry[]): string[] {
  return entries.map(([id]) => id);
}

/** Reads the next batch while the one before is being settled. */
async function readGroup(
  reader: Redis,
  stream: string,
  open: { is: boolean },
  onEntries: (entries: Entry[]) => Promise<unknown>,
): Promise<void> {
  while (open.is) {
    const read = reader.xreadgroup('GROUP', group, 'one', 'COUNT', batch, 'BLOCK', 0, 'STREAMS', stream, '>');
    const entries = await entriesOf(read, open);
    if (entries.length > 0) void onEntries(entries);
  }
}

/** A client's replies have one reader, so their stream needs no group; deleting a reply is its ack. */
async function readReplies(
  reader: Redis,
  redis: Redis,
  stream: string,
  replies: Replies,
  open: { is: boolean },
): Promise<void> {
  let after = '0';
  while (open.is) {
    const read = reader.xread('COUNT', batch, 'BLOCK', 0, 'STREAMS', stream, after);
    const entries = await entriesOf(read, open);
    if (entries.length === 0) continue;
    after = entries.at(-1)![0];
    void redis.xdel(stream, ...idsOf(entries));
    for (const [, [, body]] of entries) replies.take(JSON.parse(body!) as Body);
  }
}

async function entriesOf(read: Promise<unknown>, open: { is: boolean }): Promise<Entry[]> {
  try {
    const streams = (await read) as [string, Entry[]][] | null;
    return streams?.[0]?.[1] ?? [];
  } catch (thrown) {
    if (open.is) throw thrown;
    return [];
  }
}
