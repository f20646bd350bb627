import { describe, expect, it } from 'vitest';
import { serverUrl } from '../support/postgres/test-store.ts';
import { startTwoBrokerProcesses } from '../support/postgres/two-brokers.ts';

const hourMs = 3_600_000;

describe.skipIf(serverUrl === undefined)('A broker whose clock is off by an hour', () => {
  it.each([
    ['behind', -hourMs],
    ['ahead', hourMs],
  ])(
    'goes by the clock of the database: %s, requests are answered both ways, and messages bear the right time',
    async (_, otherAheadMs) => {
      await using site = await startTwoBrokerProcesses({ otherAheadMs });
      await using ann = await site.connect('ann', [site.one]);
      await using bob = await site.connect('bob', [site.other]);
      await ann.serve(['ask'], async () => ({ kind: 'reply', body: { text: 'yes' } }));
      const arrived = Promise.withResolvers<number>();
      await bob.serve(['ask'], async ({ message }) => {
        arrived.resolve(message.created_at);
        return { kind: 'reply', body: { text: 'yes' } };
      });
      const ask = (from: typeof ann, to: string) => from.request(to, 'ask', {}, { timeoutMs: 20_000 });
      expect(await ask(bob, 'ann')).toMatchObject({ status: 'completed' });
      expect(await ask(ann, 'bob')).toMatchObject({ status: 'completed' });
      expect(Math.abs((await arrived.promise) - Date.now())).toBeLessThan(hourMs / 2);
      await bob.deliver({ to: 'ann', kind: 'note' });
      const [{ off } = {}] = await site.schema.sql(
        'SELECT max(abs(created_at - extract(epoch FROM clock_timestamp()) * 1000))::float8 AS off FROM @message',
      );
      expect(off).toBeLessThan(hourMs / 2);
    },
  );
});
