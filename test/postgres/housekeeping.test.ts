import { openPostgresStores } from '@signalbox/postgres';
import type { InboxStore } from '@signalbox/store';
import { describe, expect, it } from 'vitest';
import { serverUrl, testSchema } from '../support/postgres/test-store.ts';
import { startTwoBrokerProcesses } from '../support/postgres/two-brokers.ts';
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
    await using site = await startTwoWithSchedule();
    const { bob, next, run, goOnTo } = site;
    goOnTo(0);
    expect(await next()).toBe(run(0));
    await site.one.end('SIGKILL');
    // Nobody keeps house yet when the next run is due.
    goOnTo(1);
    expect(await next()).toBe(run(1));
    goOnTo(2);
    expect(await next()).toBe(run(2));
    expect(await bob.peek()).toEqual([]);
  });

  it('is gone on with from where it was left, also if nobody remembers the messages of the runs before', async () => {
    await using site = await startTwoWithSchedule();
    const { schema, bob, next, run, goOnTo } = site;
    goOnTo(0);
    expect(await next()).toBe(run(0));
    const settled = async () => (await schema.sql('SELECT count(*)::int AS count FROM @settled_1'))[0]?.count;
    await expect.poll(settled).toBe(1);
    await site.one.end('SIGTERM');
    await schema.sql('TRUNCATE @settled_1');
    const keptTime = async () => (await schema.sql(`SELECT value FROM @meta WHERE key = 'time'`))[0]?.value;
    const before = await keptTime();
    // The other one has looked what is due long before it keeps its own time, every ten seconds.
    await expect.poll(keptTime).not.toBe(before);
    goOnTo(1);
    expect(await next()).toBe(run(1));
    expect(await bob.peek()).toEqual([]);
  });
});

/** Two brokers with a schedule, half an hour before a run, and the agent to whom it sends at the younger one. */
async function startTwoWithSchedule() {
  const aheadMs = hour - (Date.now() % hour) + hour / 2;
  const firstAt = Math.ceil((Date.now() + aheadMs) / hour) * hour;
  await using starting = new AsyncDisposableStack();
  const pulse = { everyMs: hour, to: 'bob', kind: 'task', text: 'look' };
  const site = starting.use(await startTwoBrokerProcesses({ schedules: { pulse }, aheadMs }));
  const bob = starting.use(await site.connect('bob', [site.other]));
  const inbox = starting.use(await bob.subscribe());
  const resources = starting.move();
  return {
    ...site,
    bob,
    /** The id of the message of a run. */
    run: (n: number) => `pulse@${new Date(firstAt + n * hour).toISOString()}`,
    /** Takes the next message. */
    next: async () => {
      const { id, seq } = (await inbox.messages.next()).value!;
      await bob.ack([seq!]);
      return id;
    },
    /** Sets the clocks of both brokers to a minute behind a run. */
    goOnTo: (n: number) => {
      const message = { aheadMs: aheadMs + hour / 2 + n * hour + minute };
      for (const { send } of [site.one, site.other]) send(message);
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function expired(store: InboxStore): Promise<string[]> {
  const now = Date.now();
  const found = await store.sweep({ times: [now], earliest: now, latest: now });
  return found.map(({ inbox }) => inbox).sort();
}
