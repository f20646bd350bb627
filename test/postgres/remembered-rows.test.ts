import type { InboxStore } from '@signalbox/store';
import { describe, expect, it } from 'vitest';
import { openMessages, serverUrl, testSchema } from '../support/postgres/test-store.ts';
import { message } from '../support/store/test-store.ts';

const none = { messages: [], attempts: [], settlements: [] };
const caps = { recipient: { messages: 50 } };
/** An incarnation that is renewed in a quarter of an hour. */
const leaseMs = 10_000_000;

/** A broker that has stored two messages in `inbox`, so that it remembers the rows. */
async function openAlone() {
  await using opening = new AsyncDisposableStack();
  const schema = opening.use(await testSchema());
  const alone = opening.use(await openMessages({ ...schema, caps, leaseMs }));
  for (const id of ['a', 'b']) await store(alone, id);
  const opened = opening.move();
  return { schema, alone, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

async function store(inboxes: InboxStore, id: string) {
  const [appended] = await inboxes.commit({ ...none, messages: [message(id)] });
  return appended!;
}

describe.skipIf(serverUrl === undefined)('A broker that is alone on a schema', () => {
  it('does not read the rows again that it has written, until another broker has begun', async () => {
    await using opened = await openAlone();
    const { schema, alone } = opened;
    await schema.sql('UPDATE @agent SET received = 50');
    expect(await store(alone, 'c')).toMatchObject({ result: 'stored' });
    {
      await using other = await openMessages({ ...schema, caps, broker: 'other' });
      expect(await store(other, 'd')).toMatchObject({ result: 'quota_exceeded' });
      expect(await store(alone, 'd')).toMatchObject({ result: 'quota_exceeded' });
    }
    await schema.sql('UPDATE @agent SET received = 3');
    expect(await store(alone, 'd')).toMatchObject({ result: 'stored' });
    expect((await alone.read('inbox', 0, 9, 1e6)).map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('knows what another broker has done that came and went', async () => {
    await using opened = await openAlone();
    const { schema, alone } = opened;
    const [a, b] = await alone.read('inbox', 0, 9, 1e6);
    {
      await using other = await openMessages({ ...schema, caps, broker: 'other' });
      await other.commit({
        ...none,
        messages: [message('c')],
        settlements: [{ inbox: 'inbox', seq: a!.seq, outcome: 'acked' }],
      });
    }
    const settlements = [a, b].map((one) => ({ inbox: 'inbox', seq: one!.seq, outcome: 'acked' as const }));
    const messages = [message('a'), message('c'), message('d')];
    expect(await alone.commit({ ...none, messages, settlements })).toMatchObject([
      { result: 'duplicate' },
      { result: 'duplicate' },
      { result: 'stored' },
    ]);
    const left = await alone.read('inbox', 0, 9, 1e6);
    expect(left.map(({ id }) => id)).toEqual(['c', 'd']);
    expect(left[0]!.seq).toBeLessThan(left[1]!.seq);
    const counted = await schema.sql(
      'SELECT i.pending::int, a.received::int FROM @inbox i, @agent a WHERE i.name = a.name',
    );
    expect(counted).toEqual([{ pending: 2, received: 2 }]);
  });

  it('recognises a repeat of a message that is pending, and of one that was settled', async () => {
    await using opened = await openAlone();
    const { alone } = opened;
    const [a] = await alone.read('inbox', 0, 9, 1e6);
    await alone.commit({ ...none, settlements: [{ inbox: 'inbox', seq: a!.seq, outcome: 'acked' }] });
    expect(await store(alone, 'a')).toEqual({ result: 'duplicate' });
    expect(await store(alone, 'b')).toEqual({ result: 'duplicate' });
    expect(await store(alone, 'c')).toMatchObject({ result: 'stored', seq: expect.any(Number) });
    const later = { ...message('b'), scheduledAt: Date.now(), createdAt: Date.now() + 1e6 };
    expect(await alone.commit({ ...none, messages: [later] })).not.toMatchObject([{ result: 'scheduled' }]);
  });

  it('changes nothing once it is over, although its commit leaves with its first statement', async () => {
    await using opened = await openAlone();
    const { schema, alone } = opened;
    await schema.sql('UPDATE @incarnation SET is_over = true');
    await expect(store(alone, 'c')).rejects.toMatchObject({ code: 'store_in_use', isFinal: true });
    expect(await schema.sql('SELECT id FROM @message ORDER BY seq')).toEqual([{ id: 'a' }, { id: 'b' }]);
  });

  it('keeps another broker from beginning while it commits', async () => {
    await using opened = await openAlone();
    const { schema, alone } = opened;
    const waiting = () =>
      schema.sql(
        `SELECT count(*)::int FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%${schema.schema}.%'`,
      );
    await using locker = await testSchema();
    await locker.sql(`BEGIN; SELECT FROM ${schema.schema}.inbox FOR UPDATE`);
    const storing = store(alone, 'c');
    await expect.poll(() => waiting()).toEqual([{ count: 1 }]);
    const beginning = openMessages({ ...schema, caps, broker: 'other' });
    await expect.poll(() => waiting()).toEqual([{ count: 2 }]);
    await locker.sql('COMMIT');
    expect(await storing).toMatchObject({ result: 'stored' });
    await using other = await beginning;
    expect((await other.read('inbox', 0, 9, 1e6)).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });

  it('reads the rows again after its connection was lost, since a crash of the server may have undone something', async () => {
    await using opened = await openAlone();
    const { schema, alone } = opened;
    await schema.sql('UPDATE @agent SET received = 50');
    await schema.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'signalbox' AND datname = current_database()`,
    );
    expect(await store(alone, 'c')).toMatchObject({ result: 'quota_exceeded' });
  });
});
