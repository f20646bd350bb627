import { isFinalFailure } from '@signalbox/store';
import { describe, expect, it } from 'vitest';
import { openMessages, serverUrl, testSchema } from '../support/postgres/test-store.ts';
import { message } from '../support/store/test-store.ts';

const none = { messages: [], attempts: [], settlements: [] };

describe.skipIf(serverUrl === undefined)('The session of a broker on PostgreSQL', () => {
  it('keeps others from the schema while it lives, and lets the next one in when it has ended', async () => {
    await using schema = await testSchema();
    {
      await using _alone = await openMessages({ ...schema });
      for (const broker of [undefined, 'one'])
        await expect(openMessages({ ...schema, broker })).rejects.toMatchObject({
          code: 'store_in_use',
          message: expect.stringContaining('Stop it, or name another schema'),
        });
    }
    await using _one = await openMessages({ ...schema, broker: 'one' });
    await using _two = await openMessages({ ...schema, broker: 'two' });
    for (const broker of [undefined, 'two'])
      await expect(openMessages({ ...schema, broker })).rejects.toMatchObject({ code: 'store_in_use' });
  });

  it('lets one of two brokers in that start at once on a new schema', async () => {
    await using schema = await testSchema();
    const opened = await Promise.allSettled([openMessages({ ...schema }), openMessages({ ...schema })]);
    const stores = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(stores).toHaveLength(1);
    await stores[0]![Symbol.asyncDispose]();
  });

  it('ends for good when another broker takes over after its lease: the first one changes nothing any more', async () => {
    await using schema = await testSchema();
    await using first = await openMessages({ ...schema, leaseMs: 10_000_000 });
    const [stored] = await first.commit({ ...none, messages: [message('a')] });
    const seq = stored?.result === 'stored' ? stored.seq : 0;
    // As after a stop for longer than the lease. This store renews its own in a quarter of an hour.
    await schema.sql(`UPDATE @session SET alive_until = clock_timestamp() - interval '1 second'`);
    const second = await openMessages({ ...schema });
    await using _second = second;
    const settling = first.commit({ ...none, settlements: [{ inbox: 'inbox', seq, outcome: 'dead' }] });
    const error: unknown = await settling.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'store_in_use', message: expect.stringContaining('another broker') });
    expect(isFinalFailure(error)).toBe(true);
    await expect(first.commit({ ...none, messages: [message('b')] })).rejects.toBe(error);
    await expect(first.prove()).rejects.toBe(error);
    expect((await second.read('inbox', 0, 9, 1e6)).map(({ id }) => id)).toEqual(['a']);
    expect(await second.commit({ ...none, messages: [message('a'), message('c')] })).toMatchObject([
      { result: 'duplicate' },
      { result: 'stored' },
    ]);
  });
});
