import type { InboxStore } from '@signalbox/store';
import { describe, expect, it } from 'vitest';
import { serverUrl } from '../support/postgres/test-store.ts';
import { openTwoShares, type Share } from '../support/postgres/two-shares.ts';
import { message } from '../support/store/test-store.ts';

const none = { messages: [], attempts: [], settlements: [] };

describe.skipIf(serverUrl === undefined)('The brokers on one schema', () => {
  it('hand out and settle the messages of an inbox only while they hold it', async () => {
    await using site = await openTwoShares();
    const { one, other } = site;
    const store = async (by: InboxStore, id: string) => {
      const [stored] = await by.commit({ ...none, messages: [{ ...message(id), inbox: 'bob' }] });
      if (stored?.result !== 'stored') throw new Error(stored?.result);
      return stored;
    };
    const first = await store(one.inboxes, 'first');
    // Nobody holds the inbox, so that no broker can tell what comes before its own message.
    expect(first).toMatchObject({ after: Number.POSITIVE_INFINITY });
    await one.cluster.take('bob');
    const second = await store(one.inboxes, 'second');
    expect(second).toEqual({ result: 'stored', seq: expect.any(Number), after: first.seq });
    const third = await store(other.inboxes, 'third');
    expect(third).toMatchObject({ after: Number.POSITIVE_INFINITY, isLeasedElsewhere: true });
    await expect.poll(() => new Set(one.heard)).toEqual(new Set(['wake bob']));
    expect(await other.cluster.leasedElsewhere(['ann', 'bob'])).toEqual(new Set(['bob']));
    expect(await ids(one)).toEqual(['first', 'second', 'third']);
    expect(await ids(other)).toEqual([]);
    // As the row of an empty inbox is removed while the incarnation of its holder has run out.
    await site.schema.sql(`UPDATE @inbox SET incarnation = NULL WHERE name = 'bob'`);
    expect(await ids(one)).toEqual(['first', 'second', 'third']);
    expect(await other.cluster.leasedElsewhere(['bob'])).toEqual(new Set(['bob']));

    await other.cluster.take('bob');
    const settle = (seq: number) => ({
      settlements: [{ inbox: 'bob', seq, outcome: 'acked' as const }],
      takings: [{ inbox: 'bob', seq, agent: 'eve' }],
      attempts: [{ inbox: 'bob', seq, attempts: 4 }],
      messages: [],
    });
    await one.inboxes.commit(settle(first.seq));
    expect(one.heard).toContain('lost bob');
    expect(await ids(one)).toEqual([]);
    const [left] = await other.cluster.read('bob', 0, 1, 1e9);
    expect(left).toMatchObject({ id: 'first', attempts: 0 });
    await other.inboxes.commit(settle(first.seq));
    other.cluster.giveBack('bob');
    await other.cluster.take('ann');
    // Nobody holds it any more, so that any broker settles what expires or is cancelled.
    await one.inboxes.commit(settle(second.seq));
    expect((await one.inboxes.read('bob', 0, 10, 1e9)).map(({ id }) => id)).toEqual(['third']);
  });

  it('are woken by a notification alone, and by the row of a message whose notification named another inbox', async () => {
    await using site = await openTwoShares();
    const { one, schema } = site;
    await one.cluster.take('bob');
    const [incarnation] = await schema.sql(`SELECT epoch FROM @incarnation WHERE broker = 'one'`);
    const epoch = Number(incarnation!.epoch);
    const channel = `sbx_${schema.schema}_${epoch}`;
    await schema.sql(`SELECT pg_notify('${channel}', '0 bob')`);
    await expect.poll(() => one.heard).toEqual(['wake bob']);
    let id = 0;
    const rowNamedAs = (inbox: string) =>
      schema.sql(`BEGIN; INSERT INTO @wake (id, incarnation, inbox) VALUES (${++id}, ${epoch}, 'bob');
        SELECT pg_notify('${channel}', '${id} ${inbox}'); COMMIT`);
    await rowNamedAs('eve');
    await expect.poll(() => one.heard.toSorted()).toEqual(['wake bob', 'wake bob', 'wake eve']);
    // Unless a look finds the row before the notification comes, one that names it spares the second wake-up.
    const wakeUps = async (): Promise<number> => {
      one.heard.length = 0;
      await rowNamedAs('bob');
      await expect.poll(() => schema.sql('SELECT FROM @wake')).toEqual([]);
      return one.heard.length;
    };
    await expect.poll(wakeUps).toBe(1);
  });

  it('find a row whose notification was lost, and that nobody could name before', async () => {
    await using site = await openTwoShares();
    const { one, other, schema } = site;
    await one.cluster.take('bob');
    // The copy of a written row imitates a broker that dies between its commit and its notification.
    await schema.sql(`CREATE TABLE @written (LIKE @wake);
      CREATE FUNCTION @copy() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO @written VALUES (NEW.*); RETURN NULL; END';
      CREATE TRIGGER copy AFTER INSERT ON @wake FOR EACH ROW EXECUTE FUNCTION @copy()`);
    const written = async () => (await schema.sql('SELECT id FROM @written')).map(({ id }) => Number(id));
    for (const id of ['a', 'b', 'c'])
      await other.inboxes.commit({ ...none, messages: [{ ...message(id), inbox: 'bob' }] });
    const ids = (await written()).sort((a, b) => a - b);
    expect(ids).toHaveLength(3);
    await expect.poll(() => schema.sql('SELECT FROM @wake')).toEqual([]);
    // Somebody else names numbers that might come next, and then a row comes.
    const [{ epoch, incarnation } = {}] = await schema.sql(
      `SELECT w.incarnation, s.epoch FROM @written w JOIN @incarnation s ON s.epoch = w.incarnation LIMIT 1`,
    );
    expect(epoch).toEqual(incarnation);
    const guesses = ids.flatMap((id) => Array.from({ length: 1_000 }, (_, at) => id + 1 + at));
    expect(guesses.filter((guess) => ids.includes(guess))).toEqual([]);
    one.heard.length = 0;
    await schema.sql(`BEGIN;
      SELECT pg_notify('sbx_${schema.schema}_${epoch}', guess || ' bob') FROM unnest('{${guesses}}'::bigint[]) AS guess;
      INSERT INTO @wake SELECT * FROM @written LIMIT 1; COMMIT`);
    await expect.poll(() => one.heard.length).toBeGreaterThan(guesses.length);
  });

  it('are woken by notifications of many inboxes, beside one that makes them look', async () => {
    await using site = await openTwoShares();
    const { one, other } = site;
    const names = Array.from({ length: 100 }, (_, at) => String(at).padStart(128, 'a'));
    await Promise.all([...names, 'bob'].map((name) => one.cluster.take(name)));
    const messages = names.map((inbox) => ({ ...message(inbox.slice(64)), inbox }));
    await Promise.all([other.inboxes.commit({ ...none, messages }), other.cluster.take('bob')]);
    const all = [...names.map((name) => `wake ${name}`), 'lost bob'];
    await expect
      .poll(() => [...new Set(one.heard)].filter((what) => what !== 'wake bob').sort())
      .toEqual(all.sort());
  });

  it('ack what an operator was asked with the answer of another one, unless another broker hands it out', async () => {
    await using site = await openTwoShares();
    const { one, other } = site;
    const asks = ['free', 'held'].map((inbox) => ({ ...message('q'), inbox, openUntil: Date.now() + 1e6 }));
    await one.inboxes.commit({ ...none, messages: asks });
    await other.cluster.take('held');
    const answer = (asked: string, id: string) => ({
      ...message(id),
      inbox: 'ann',
      sender: 'alice',
      senderAddress: 'alice',
      correlationId: 'q',
      answers: 'ann',
      asked,
    });
    const answers = [answer('free', '1'), answer('held', '2'), answer('held', '3')];
    const [free, held, late] = await one.inboxes.commit({ ...none, messages: answers });
    expect(free).toMatchObject({ result: 'stored', request: { inbox: 'free', id: 'q' } });
    expect(held).toMatchObject({ result: 'stored' });
    expect(held).not.toHaveProperty('request');
    expect(late).toMatchObject({ result: 'already_answered' });
    expect(await one.inboxes.read('free', 0, 1, 1e9)).toEqual([]);
    expect(await other.cluster.read('held', 0, 1, 1e9)).toMatchObject([{ id: 'q', answered: true }]);
  });

  it('store one reply to a request, also from a holder that has not heard that it lost the inbox', async () => {
    await using site = await openTwoShares();
    const { one, other } = site;
    const [asked] = await one.inboxes.commit({
      ...none,
      messages: [{ ...message('q'), inbox: 'bob', openUntil: Date.now() + 1e6 }],
    });
    if (asked?.result !== 'stored') throw new Error(asked?.result);
    await one.cluster.take('bob');
    await other.cluster.take('bob');
    const reply = (id: string) => ({
      ...message(id),
      inbox: 'ann',
      sender: 'bob',
      senderAddress: 'bob',
      correlationId: 'q',
      answers: 'ann',
      settles: { inbox: 'bob', seq: asked.seq },
    });
    expect(await one.inboxes.commit({ ...none, messages: [reply('re:1')] })).toMatchObject([
      { result: 'stored' },
    ]);
    expect(await other.cluster.read('bob', 0, 1, 1e9)).toMatchObject([{ id: 'q', answered: true }]);
    expect(await other.inboxes.commit({ ...none, messages: [reply('re:2')] })).toMatchObject([
      { result: 'already_answered' },
    ]);
    expect(await other.cluster.read('bob', 0, 1, 1e9)).toEqual([]);
  });

  it('do not take an inbox whose consumer is gone before the take comes through', async () => {
    await using site = await openTwoShares();
    const { one, other, schema } = site;
    await one.cluster.take('bob');
    await schema.sql(`BEGIN; SELECT FROM @inbox WHERE name = 'bob' FOR UPDATE`);
    const taken = other.cluster.take('bob');
    const waiting = async () => (await schema.sql('SELECT FROM pg_locks WHERE NOT granted')).length > 0;
    await expect.poll(waiting).toBe(true);
    other.cluster.giveBack('bob');
    await schema.sql('COMMIT');
    await taken;
    await other.cluster.take('ann');
    expect(one.heard).toEqual([]);
    expect(await other.cluster.leasedElsewhere(['bob'])).toEqual(new Set(['bob']));
  });

  it('change nothing once their incarnation is over, and their inboxes are free', async () => {
    await using site = await openTwoShares();
    const { one, other } = site;
    await one.cluster.take('bob');
    await site.schema.sql(`UPDATE @incarnation SET is_over = true WHERE broker = 'one'`);
    await expect(one.inboxes.commit({ ...none, messages: [message('late')] })).rejects.toMatchObject({
      code: 'store_in_use',
      isFinal: true,
    });
    await expect(one.cluster.take('eve')).rejects.toMatchObject({ code: 'store_in_use' });
    await expect(one.cluster.read('bob', 0, 1, 1)).rejects.toMatchObject({ code: 'store_in_use' });
    expect(one.heard).toEqual([]);
    expect(await other.cluster.leasedElsewhere(['bob'])).toEqual(new Set());
    expect(await other.cluster.tell('bob', { header: '{}', body: undefined }, 'ann')).toBe(false);
    expect(await other.inboxes.commit({ ...none, messages: [message('stored')] })).toMatchObject([
      { result: 'stored' },
    ]);
  });
});

async function ids({ cluster }: Share): Promise<string[]> {
  return (await cluster.read('bob', 0, 10, 1e9)).map(({ id }) => id);
}
