import { isFinalFailure } from '@signalbox/store';
import { describe, expect, it } from 'vitest';
import { openMessages, serverUrl, testSchema } from '../support/postgres/test-store.ts';
import { message } from '../support/store/test-store.ts';

const none = { messages: [], attempts: [], settlements: [] };

describe.skipIf(serverUrl === undefined)('The incarnation of a broker on PostgreSQL', () => {
  it('keeps others of its name from the schema while it lives, and lets the next one in when it has ended', async () => {
    await using schema = await testSchema();
    await using _one = await openMessages({ ...schema, broker: 'one' });
    {
      await using _two = await openMessages({ ...schema, broker: 'two' });
      await expect(openMessages({ ...schema, broker: 'two' })).rejects.toMatchObject({
        code: 'store_in_use',
        message: expect.stringMatching(/the name 'two' .*broker\.store\.name.*alive for another \d+ seconds/),
      });
    }
    await using _again = await openMessages({ ...schema, broker: 'two' });
  });

  it('goes on after a time without a database, since no other broker had the time to end it', async () => {
    await using schema = await testSchema();
    const leaseMs = 2000;
    await using one = await openMessages({ ...schema, leaseMs, broker: 'one' });
    await using other = await openMessages({ ...schema, leaseMs, broker: 'other' });
    // As after a time in which no broker reached the database.
    await schema.sql(`UPDATE @incarnation SET alive_until = clock_timestamp() - interval '1 minute'`);
    for (const store of [one, other])
      expect(await store.commit({ ...none, messages: [message(`m${store === one}`)] })).toMatchObject([
        { result: 'stored' },
      ]);
    const gaps = await schema.sql(
      `SELECT alive_since > now() - interval '1 minute' AS is_new FROM @incarnation`,
    );
    expect(gaps).toEqual([{ is_new: true }, { is_new: true }]);
  });

  it('is over when another broker has lived for the time of a lease and finds that this one has not', async () => {
    await using schema = await testSchema();
    await using silent = await openMessages({ ...schema, leaseMs: 10_000_000, broker: 'silent' });
    await using _other = await openMessages({ ...schema, leaseMs: 500, broker: 'other' });
    await schema.sql(`UPDATE @incarnation SET alive_until = clock_timestamp() WHERE broker = 'silent'`);
    await expect
      .poll(() => schema.sql(`SELECT is_over FROM @incarnation WHERE broker = 'silent'`))
      .toEqual([{ is_over: true }]);
    await expect(silent.commit({ ...none, messages: [message('late')] })).rejects.toMatchObject({
      code: 'store_in_use',
      isFinal: true,
    });
  });

  it('begins once the server has given up a session that was lost while it looked at the tables', async () => {
    await using schema = await testSchema();
    await using lost = await testSchema();
    await lost.sql('SET idle_in_transaction_session_timeout = 6000');
    await lost.sql(
      `BEGIN; SELECT pg_advisory_xact_lock(hashtext('signalbox'), hashtext('${schema.schema}'))`,
    );
    await using _one = await openMessages({ ...schema });
    expect(await schema.sql('SELECT broker FROM @incarnation')).toEqual([{ broker: 'one' }]);
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
    await schema.sql(`UPDATE @incarnation SET alive_until = clock_timestamp() - interval '1 second'`);
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
