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
});
