import { describe, expect, test } from 'vitest';
import { openMessages, serverUrl, testSchema } from '../support/postgres/test-store.ts';
import { commit, message, settle } from '../support/store/test-store.ts';

const [messages, atOnce] = [4000, 50];

describe.skipIf(serverUrl === undefined)('Statements that were planned while the tables were empty', () => {
  // A broker that is alone remembers rows, so that it runs fewer of them.
  test.each(['alone', 'beside another one'])(
    'read no more rows when many messages wait at a broker %s',
    async (place) => {
      await using schema = await testSchema();
      {
        await using opened = new AsyncDisposableStack();
        const setup = opened.use(await openMessages({ ...schema }));
        if (place !== 'alone') opened.use(await openMessages({ ...schema, broker: 'other' }));
        const store = { store: setup } as Parameters<typeof commit>[0];
        await schema.sql('VACUUM ANALYZE @message, @claim, @sent_to, @inbox, @agent');
        await settle(store, await commit(store, [message('first')]));
        const seqs: number[] = [];
        for (let n = 0; n < messages; n += atOnce)
          seqs.push(
            ...(await commit(
              store,
              Array.from({ length: atOnce }, (_, i) => message(`id-${n + i}`)),
            )),
          );
        for (let n = 0; n < messages; n += atOnce) {
          const attempts = seqs.slice(n, n + atOnce).map((seq) => ({ inbox: 'inbox', seq, attempts: 1 }));
          await setup.commit({ messages: [], settlements: [], attempts });
          await settle(store, seqs.slice(n, n + atOnce));
        }
      }
      // A connection that ends has told the server what it read.
      const read = await schema.sql(
        `SELECT relname AS table, indexrelname AS index, idx_tup_read::int AS rows FROM pg_stat_user_indexes WHERE schemaname = '${schema.schema}'`,
      );
      const many = read.filter(({ rows }) => Number(rows) > 10 * messages);
      expect(many).toEqual([]);
      expect(read.filter(({ table, rows }) => table === 'message' && Number(rows) >= messages)).not.toEqual(
        [],
      );
    },
  );
});
