import type { InboxStore } from '@signalbox/store';
import { openPostgresStores } from '@signalbox/store-postgres';
import { describe, expect, it } from 'vitest';
import { serverUrl, testSchema } from '../support/postgres/test-store.ts';
import { startTwo } from '../support/postgres/two-brokers.ts';
import { message } from '../support/store/test-store.ts';

const none = { messages: [], attempts: [], settlements: [] };
const minute = 60_000;
const hour = 60 * minute;

describe.skipIf(serverUrl === undefined)('What one broker does for all', () => {
  it('is done by the oldest one, and by the next one when that has ended', async () => {
    await using schema = await testSchema();
    const one = await openPostgresStores({ ...schema, broker: 'one' });
    await using other = await openPostgresStores({ ...schema, broker: 'other' });
    expect([one, other].map(({ cluster }) => cluster.keepsHouse)).toEqual([true, false]);
    await other.cluster.take('held');
    const expiresAt = Date.now() - 1000;
    const messages = ['held', 'free'].map((inbox) => ({ ...message(inbox), inbox, expiresAt }));
    await other.inboxes.commit({ ...none, messages });
    expect([await expired(one.inboxes), await expired(other.inboxes)]).toEqual([['free'], ['held']]);
    await one[Symbol.asyncDispose]();
    await expect.poll(() => other.cluster.keepsHouse).toBe(true);
    expect(await expired(other.inboxes)).toEqual(['free', 'held']);
  });

  it('includes the runs of schedules: one that is due while that broker is dead is done once, and none twice', async () => {
    const pulse = { everyMs: hour, to: 'bob', kind: 'task', text: 'look' };
    // Half an hour before a run.
    const aheadMs = hour - (Date.now() % hour) + hour / 2;
    await using site = await startTwo({ schedules: { pulse }, aheadMs });
    const firstAt = Math.ceil((Date.now() + aheadMs) / hour) * hour;
    const run = (n: number) => `pulse@${new Date(firstAt + n * hour).toISOString()}`;
    await using bob = await site.connect('bob', [site.other]);
    await using inbox = await bob.subscribe();
    const next = async () => {
      const { id, seq } = (await inbox.messages.next()).value!;
      await bob.ack([seq!]);
      return id;
    };
    for (const { send } of [site.one, site.other]) send({ aheadMs: aheadMs + hour / 2 + minute });
    expect(await next()).toBe(run(0));
    await site.one.end('SIGKILL');
    // Nobody keeps house yet when the next run is due.
    site.other.send({ aheadMs: aheadMs + hour / 2 + hour + minute });
    expect(await next()).toBe(run(1));
    site.other.send({ aheadMs: aheadMs + hour / 2 + 2 * hour + minute });
    expect(await next()).toBe(run(2));
    expect(await bob.peek()).toEqual([]);
  });
});

async function expired(store: InboxStore): Promise<string[]> {
  const now = Date.now();
  const found = await store.sweep({ times: [now], earliest: now, latest: now });
  return found.map(({ inbox }) => inbox).sort();
}
