import { connectBroker } from '@signalbox/client';
import { issueToken } from '@signalbox/client/operator';
import type { ChildEnd } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { startSite } from '../faults/postgres/site.ts';
import { reached } from '../support/broker/broker-with-clients.ts';
import { isPackaged, startInstalledPostgres } from '../support/postgres/postgres-server.ts';

it.runIf(isPackaged).each(['openly', 'silently'] as const)(
  'A broker that is cut off %s from the database lets its clients go on at another one, and ends when it hears of its incarnation.',
  async (how) => {
    const ended = Promise.withResolvers<{ end: ChildEnd; stderr: string }>();
    await using server = await startInstalledPostgres();
    const times = { leaseMs: 1000, heartbeatMs: 15_000 };
    await using site = await startSite(server, times, {
      onDeath: (_, end, stderr) => ended.resolve({ end, stderr }),
    });
    const [one, other] = site.brokers;
    const connect = (agent: string, token: string) =>
      connectBroker({ url: site.url, random: () => 0, token, agent });
    await using operator = await connect('operator#test', one!.operatorToken);
    const tokenOf = async (agent: string) => (await issueToken(operator, { agent, role: 'worker' })).token;
    await using ann = await connect('ann', await tokenOf('ann'));
    await using bob = await connect('bob', await tokenOf('bob'));
    await using inbox = await bob.subscribe();
    await ann.deliver({ to: 'bob', kind: 'note', id: 'before' });
    const before = (await inbox.messages.next()).value!;
    expect(ann.url).toBe(one!.url);
    const gone = Promise.all([ann, bob].map((client) => reached(client, 'reconnecting')));
    one!.proxy.cutOff(how);
    await gone;
    await Promise.all([ann, bob].map((client) => reached(client, 'ready')));
    expect([ann.url, bob.url]).toEqual([other!.url, other!.url]);
    await ann.deliver({ to: 'bob', kind: 'note', id: 'since' });
    // Messages that were not acked come again.
    const ids = [(await inbox.messages.next()).value!.id, (await inbox.messages.next()).value!.id];
    expect(ids).toEqual([before.id, 'since']);
    one!.proxy.heal();
    const { end, stderr } = await ended.promise;
    expect(end).toMatchObject({ code: 70 });
    expect(stderr).toContain('store_in_use');
  },
);
