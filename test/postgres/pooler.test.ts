import { openPostgresStores } from '@signalbox/postgres';
import { describe, expect, it } from 'vitest';
import { openMessages, serverUrl, testSchema } from '../support/postgres/test-store.ts';
import { startTransactionPooler } from '../support/postgres/transaction-pooler.ts';
import { message } from '../support/store/test-store.ts';

const none = { messages: [], attempts: [], settlements: [] };

describe.skipIf(serverUrl === undefined)('A PostgreSQL store', () => {
  it('works behind a pooler that gives each transaction another connection to the server', async () => {
    await using schema = await testSchema();
    await using pooler = await startTransactionPooler(schema.url);
    await using store = await openMessages({ ...schema, url: pooler.url });
    const seqs: number[] = [];
    for (let round = 0; round < 20; round++) {
      const messages = [message(`a${round}`), { ...message(`b${round}`), inbox: `inbox${round}` }];
      const appended = await store.commit({ ...none, messages });
      expect(appended).toMatchObject([{ result: 'stored' }, { result: 'stored' }]);
      const [first] = appended;
      if (first?.result === 'stored') seqs.push(first.seq);
      expect(await store.commit({ ...none, messages })).toEqual([
        { result: 'duplicate' },
        { result: 'duplicate' },
      ]);
      expect(await store.stats('inbox')).toMatchObject({ pending: round + 1 });
    }
    const settlements = seqs.map((seq) => ({ inbox: 'inbox', seq, outcome: 'acked' as const }));
    await Promise.all([
      store.commit({ ...none, settlements: settlements.slice(0, 10) }),
      store.commit({ ...none, settlements: settlements.slice(10) }),
      store.sweep({ times: [1], earliest: 1, latest: 1 }),
    ]);
    expect(await store.stats('inbox')).toMatchObject({ pending: 0 });
    expect((await store.history({ since: 0, limit: 99 })).entries).toHaveLength(40);
    expect(pooler.moves).toBeGreaterThan(20);
  });

  it('listens behind a pooler only at the server that has an address of its own, and wakes others without it', async () => {
    await using schema = await testSchema();
    await using pooler = await startTransactionPooler(schema.url);
    const listening = async () => {
      const channel = `LISTEN sbx_${schema.schema}_%`;
      return (await schema.sql(`SELECT query FROM pg_stat_activity WHERE query LIKE '${channel}'`)).length;
    };
    const open = (broker: string, direct?: string) =>
      openPostgresStores({ ...schema, url: pooler.url, broker, direct, link: false });
    await using one = await open('one');
    expect(await listening()).toBe(0);
    await using other = await open('other', schema.url);
    expect(await listening()).toBe(1);
    const heard = Promise.withResolvers<string>();
    one.cluster.listen({ wake: heard.resolve, came() {}, freed() {}, lost() {}, cancelled() {}, told() {} });
    await one.cluster.take('bob');
    await other.inboxes.commit({ ...none, messages: [{ ...message('a'), inbox: 'bob' }] });
    expect(await heard.promise).toBe('bob');
  });
});
