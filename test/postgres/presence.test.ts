import { openPostgresStores } from '@signalbox/postgres';
import type { PresenceQuery, PresentCaller } from '@signalbox/store';
import { describe, expect, it } from 'vitest';
import { startPostgres } from '../support/postgres/postgres-server.ts';
import { serverUrl, testSchema } from '../support/postgres/test-store.ts';
import { startTwoBrokerProcesses } from '../support/postgres/two-brokers.ts';

const all: PresenceQuery = { after: '', limit: 1000 };

describe.skipIf(serverUrl === undefined)('Who is connected to several brokers', () => {
  it('is listed by each of them, with the broker and what it announced, and goes with its connection or its broker', async () => {
    await using site = await startTwoBrokerProcesses();
    const { operator } = site;
    await using ann = await site.connect('ann', [site.one]);
    const bob = await site.connect('bob#1', [site.other]);
    expect([ann.welcome.broker, bob.welcome.broker]).toEqual(['one', 'other']);
    bob.announce({ mood: 'fine' });
    await using eve = await site.connect('bob', [site.other]);
    await eve.subscribe();
    await ann.deliver({ to: 'bob', kind: 'note' });
    const listed = async () =>
      (await operator.listConnected({ withStatus: true })).map(
        ({ address, role, broker, status, inbox }) => [address, role, broker, status, inbox] as const,
      );
    // The messages that another broker has handed out are not known.
    const mail = { unread: 1 };
    await expect.poll(listed).toEqual([
      ['ann', 'worker', 'one', undefined, { unread: 0, held: 0 }],
      ['bob', 'orchestrator', 'other', undefined, mail],
      ['bob#1', 'orchestrator', 'other', { mood: 'fine' }, mail],
      [operator.address, 'operator', 'one', undefined, { unread: 0, held: 0 }],
    ]);
    const waiting = async () => (await operator.admin('waiting', {})).agents.map((one) => one.connected);
    expect(await waiting()).toEqual([true]);
    const found = await ann.listConnected({ role: 'orchestrator' });
    expect(found.map(({ address }) => address)).toEqual(['bob', 'bob#1']);
    await bob.close();
    await expect
      .poll(async () => (await listed()).map(([address]) => address))
      .toEqual(['ann', 'bob', operator.address]);
    await site.other.end('SIGKILL');
    await expect.poll(async () => (await listed()).map(([, , broker]) => broker)).toEqual(['one', 'one']);
    expect(await waiting()).toEqual([false]);
  });

  it('is read in pages, of some roles', async () => {
    await using site = await openTwo();
    const { one, other } = site;
    const roles = ['worker', 'work_er', 'reviewer.a', 'reviewer.b'];
    const callers = Array.from({ length: 600 }, (_, n) =>
      caller(`a-${String(n).padStart(3, '0')}`, roles[n % 4]!),
    );
    for (const each of callers) other.present(each);
    await expect.poll(async () => (await one.elsewhere(all)).length).toBe(callers.length);
    const pages: string[] = [];
    for (let after = ''; ; ) {
      const page = await one.elsewhere({ after, limit: 250 });
      pages.push(...page.map(({ key }) => key));
      if (page.length < 250) break;
      after = page.at(-1)!.key;
    }
    expect(pages).toEqual(callers.map(({ key }) => key));
    const of = async (query: Partial<PresenceQuery>) =>
      new Set((await one.elsewhere({ ...all, ...query })).map(({ role }) => role));
    expect(await of({ role: 'worker' })).toEqual(new Set(['worker']));
    expect(await of({ roles: ['work_*', 'reviewer.a'] })).toEqual(new Set(['work_er', 'reviewer.a']));
    expect(await of({ roles: [] })).toEqual(new Set());
    expect(await other.elsewhere(all)).toEqual([]);
    expect(await one.connectedElsewhere(['a-001', 'b'])).toEqual(new Set(['a-001']));
    expect(await one.brokers()).toMatchObject([
      { name: 'one', since: expect.any(Number) },
      { name: 'other', since: expect.any(Number) },
    ]);
  });

  it('is written again after a crash of the server has emptied the table', async () => {
    await using server = await startPostgres();
    if (!server) throw new Error('there is no PostgreSQL');
    await using site = await openTwo(server.url);
    const { one, other } = site;
    for (const name of ['ann', 'bob']) other.present(caller(name));
    const names = async () => (await one.elsewhere(all)).map(({ agent }) => agent);
    await expect.poll(names).toEqual(['ann', 'bob']);
    other.absent('ann');
    await expect.poll(names).toEqual(['bob']);
    await server.stop('immediate');
    other.present(caller('zoe'));
    await server.start();
    await expect.poll(names).toEqual(['bob', 'zoe']);
  });
});

function caller(agent: string, role = 'worker'): PresentCaller {
  return { key: agent, agent, address: agent, role, connectedAt: 1, status: undefined };
}

/** Opens what two brokers on one schema know of each other's connections. */
async function openTwo(url?: string) {
  await using opening = new AsyncDisposableStack();
  const schema = opening.use(await testSchema(url));
  const open = async (broker: string) =>
    opening.use(await openPostgresStores({ ...schema, broker })).cluster.presence;
  const one = await open('one');
  const other = await open('other');
  const opened = opening.move();
  return { one, other, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
