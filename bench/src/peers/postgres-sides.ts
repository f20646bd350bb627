import pg from 'pg';
import type { Body, PeerSides } from './peer.ts';
import type { TableQueue, TakenRow } from './postgres-queries.ts';
import { Replies } from './replies.ts';

const consumersPerTable = 2;

/** The two ends of messages in a queue in tables. */
export function tableQueueSides(queue: TableQueue): PeerSides {
  return {
    async prepare({ url }) {
      const connection = await open(url);
      await connection.query(queue.tables);
      await connection.end();
    },

    // Inserts and replies have a connection each, so that a reply never waits for somebody else's insert.
    async openClient({ url }, id) {
      const inserting = await open(url);
      const reading = await open(url);
      const replies = new Replies();
      const insertInto = (table: string, channels: string[]) =>
        batched<Body>((bodies) =>
          queue.insert(
            inserting,
            table,
            bodies.map((body) => ({ client: id, id: idOf(body.n), body: JSON.stringify(body) })),
            channels,
          ),
        );
      const inserts = {
        pile: insertInto('pile', []),
        sink: insertInto('sink', ['sink']),
        requests: insertInto('requests', ['requests']),
      };
      void onWork(reading, `replies_${id}`, async () => {
        const rows = await queue.takeReplies(reading, id);
        for (const { body } of rows) replies.take(JSON.parse(body) as Body);
        return rows.length;
      });
      return {
        enqueue: (to, body) => inserts[to](body),
        request: async (body) => {
          const reply = replies.wait(body.n);
          await inserts.requests(body);
          return reply;
        },
        [Symbol.asyncDispose]: async () => {
          await Promise.all([inserting.end(), reading.end()]);
        },
      };
    },

    async openConsumer({ url }, onAcked) {
      const connections: pg.Client[] = [];
      const consume = async (table: string, finish: (c: pg.Client, rows: TakenRow[]) => Promise<unknown>) => {
        for (let i = 0; i < consumersPerTable; i++) {
          const connection = await open(url);
          connections.push(connection);
          void onWork(connection, table, async () => {
            const rows = await queue.take(connection, table);
            if (rows.length > 0) await finish(connection, rows);
            else await queue.commit(connection, [], []);
            return rows.length;
          });
        }
      };
      await consume('requests', (connection, rows) => {
        const replies = rows.map(({ client, body }) => {
          const request = JSON.parse(body) as Body;
          return { client, id: idOf(request.n), body: JSON.stringify(request) };
        });
        const channels = new Set(rows.map(({ client }) => `replies_${client}`));
        return queue.commit(connection, replies, [...channels]);
      });
      await consume('sink', async (connection, rows) => {
        const numbers = rows.map(({ body }) => (JSON.parse(body) as Body).n);
        await queue.commit(connection, [], []);
        numbers.forEach(onAcked);
      });
      return {
        [Symbol.asyncDispose]: async () => {
          await Promise.all(connections.map((connection) => connection.end()));
        },
      };
    },

    async tidy({ url }) {
      const connection = await open(url);
      for (const tidying of queue.tidyings) await connection.query(tidying);
      await connection.end();
    },
  };
}

/** Ids of this process, which sort by time. */
const idPrefix = Date.now().toString(36);

function idOf(n: number): string {
  return `${idPrefix}${n.toString(36).padStart(8, '0')}`;
}

/** `pipeline`: a query leaves at once, not when the one before is answered. */
async function open(connectionString: string): Promise<pg.Client> {
  const connection = new pg.Client({ connectionString, pipeline: true });
  await connection.connect();
  return connection;
}

/** Returns a function that does one insert at a time, with all that came while the one before was under way. */
export function batched<T>(insert: (all: T[]) => Promise<unknown>): (one: T) => Promise<unknown> {
  let pending: T[] = [];
  let next: Promise<unknown> | undefined;
  let running: Promise<unknown> = Promise.resolve();
  return (one) => {
    pending.push(one);
    next ??= running.then(() => {
      const all = pending;
      pending = [];
      next = undefined;
      running = insert(all);
      return running;
    });
    return next;
  };
}

/** Works until there is nothing left, then again at each notification. Ends with the connection. */
async function onWork(connection: pg.Client, channel: string, work: () => Promise<number>): Promise<void> {
  let wake = Promise.withResolvers<boolean>();
  connection.on('notification', () => wake.resolve(true));
  connection.on('end', () => wake.resolve(false));
  await connection.query(`LISTEN ${channel}`);
  for (let open = true; open; open = await wake.promise) {
    wake = Promise.withResolvers();
    while ((await work()) > 0);
  }
}
