import type { InboxStore } from '@signalbox/store';
import { describe, expect, it } from 'vitest';
import { openMessages, serverUrl, testSchema } from '../support/postgres/test-store.ts';
import { message } from '../support/store/test-store.ts';

const keepBodies = { kinds: ['note'], ageMs: 1000, bytes: 1e6 };
const none = { attempts: [], settlements: [] };

/** Stores notes that were created at a time, each in a thread of its own. */
async function store(inboxes: InboxStore, ids: readonly string[], createdAt: number): Promise<void> {
  const messages = ids.map((id) => ({ ...message(id), createdAt, body: `body of ${id}` }));
  await inboxes.commit({ ...none, messages });
}

async function threads(inboxes: InboxStore): Promise<string[]> {
  return (await inboxes.kept.threads({ limit: 99 })).threads.map(({ newest }) => newest.thread);
}

describe.skipIf(serverUrl === undefined)('Kept bodies', () => {
  it('are shared by brokers, of which the one that keeps house forgets, and their amount is known without a count', async () => {
    await using schema = await testSchema();
    await using one = await openMessages({ ...schema, keepBodies, broker: 'one' });
    await using other = await openMessages({ ...schema, keepBodies, broker: 'other' });
    const amount = async () => {
      const [row] = await schema.sql(
        `SELECT (SELECT sum(bytes) FROM @kept_amount)::int AS known, (SELECT coalesce(sum(size + 200), 0) FROM @kept_body)::int AS found`,
      );
      expect(row!.known).toBe(row!.found);
      return row!.known;
    };
    await Promise.all([store(one, ['a', 'b'], 1), store(other, ['c', 'd'], 1)]);
    await store(other, ['e'], 1500);
    expect(await amount()).toBe(5 * (9 + 200));
    const found = await other.kept.threads({ words: ['body'], limit: 9 });
    expect(found.threads).toHaveLength(5);
    expect(await other.kept.index(2000)).toBe(false);
    expect(await threads(other)).toHaveLength(5);
    await Promise.all([
      one.kept.index(2000),
      one.kept.forget('a'),
      other.kept.forget('a'),
      other.kept.forget('b'),
    ]);
    expect(await threads(other)).toEqual(['e']);
    expect(await amount()).toBe(9 + 200);
    await one[Symbol.asyncDispose]();
    const left = async (): Promise<string[]> => {
      await other.kept.index(3000);
      return threads(other);
    };
    await expect.poll(left).toEqual([]);
    expect(await amount()).toBe(0);
  });

  it('get their words in small steps, a large one alone, and go step by step once nothing is to be kept', async () => {
    await using schema = await testSchema();
    {
      await using inboxes = await openMessages({ ...schema, keepBodies });
      const ids = Array.from({ length: 450 }, (_, n) => `m${n}`);
      const large = { ...message('large'), createdAt: 1, body: `large ${'x'.repeat(300_000)} end` };
      await inboxes.commit({ ...none, messages: [large] });
      await store(inboxes, ids, 1);
      const left = async () =>
        (await schema.sql('SELECT count(*)::int AS left FROM @kept_body WHERE words IS NULL'))[0]!.left;
      const steps: unknown[] = [];
      for (let isMore = true; isMore; steps.push(await left())) isMore = await inboxes.kept.index(2);
      expect(steps).toEqual([450, 350, 250, 150, 50, 0, 0]);
      expect(await inboxes.kept.threads({ words: ['large'], limit: 9 })).toMatchObject({
        threads: [{ newest: { id: 'large', size: 300_010 } }],
      });
    }
    await using inboxes = await openMessages(schema);
    await store(inboxes, ['later'], 1);
    const steps: unknown[] = [];
    for (let isMore = true; isMore; ) {
      isMore = await inboxes.kept.index(2);
      steps.push((await schema.sql('SELECT count(*)::int AS left FROM @kept_body'))[0]!.left);
    }
    expect(steps).toEqual([251, 51, 0]);
    expect(await schema.sql('SELECT sum(bytes)::int AS bytes FROM @kept_amount')).toEqual([{ bytes: 0 }]);
  });

  it('are found by a rare word at once, and by words of thousands of messages in pages that read some of them', async () => {
    await using schema = await testSchema();
    await using inboxes = await openMessages({ ...schema, keepBodies });
    // In the order of their numbers, threads have ever more messages; ann sends few.
    await schema.sql(
      `INSERT INTO @kept_body SELECT n, 'thread-' || ceil(sqrt(n) / 5), 'm' || n, NULL, CASE WHEN n % 4000 = 7 THEN 'ann' ELSE 'kim' END,
         'bob', 'bob#x', 'note', n, 6, 'common', ('common:1 number:2 w' || n || ':3')::tsvector FROM generate_series(1, 12000) AS n`,
    );
    const all: string[] = [];
    const cursors: (number | undefined)[] = [];
    for (let cursor: number | undefined, isFirst = true; isFirst || cursor; isFirst = false) {
      const page = await inboxes.kept.threads({
        words: ['comm', 'number'],
        limit: 99,
        ...(cursor && { cursor }),
      });
      all.push(...page.threads.map(({ newest }) => newest.thread));
      cursor = page.cursor;
      cursors.push(cursor);
    }
    expect(cursors).toEqual([7001, 2001, undefined]);
    expect(all).toEqual(Array.from({ length: 22 }, (_, n) => `thread-${22 - n}`));
    const seqs = async (query: object) =>
      (await inboxes.kept.threads({ limit: 9, ...query })).threads.map(({ newest }) => newest.seq);
    expect(await seqs({ words: ['w1100'] })).toEqual([11_009, 1100]);
    expect(await seqs({ words: ['common number w11999'] })).toEqual([11_999]);
    expect(await seqs({ agent: 'ann' })).toEqual([8007, 4007, 7]);
    expect(await seqs({ agent: 'ann', words: ['common'] })).toEqual([8007, 4007, 7]);
    expect(await seqs({ agent: 'bob', words: ['w4007'] })).toEqual([4007]);
    expect(await inboxes.kept.threads({ agent: 'bob', limit: 1 })).toMatchObject({
      threads: [{ newest: { seq: 12_000 }, messages: 975, since: 11_026 }],
    });
  });
});
