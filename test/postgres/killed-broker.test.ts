import { connectBroker } from '@signalbox/client';
import { issueToken } from '@signalbox/client/operator';
import { expect, it } from 'vitest';
import { startSite } from '../faults/postgres/site.ts';
import { reached } from '../support/broker/broker-with-clients.ts';
import { isPackaged, startInstalledPostgres } from '../support/postgres/postgres-server.ts';

const messages = 40;
const times = { leaseMs: 10_000, heartbeatMs: 15_000 };

it.runIf(isPackaged)(
  'A broker that is killed while messages come and go loses none of them: its agents go on at the other one.',
  async () => {
    await using server = await startInstalledPostgres();
    await using site = await startSite(server, times, { onDeath: () => {} });
    const [one, other] = site.brokers.map(({ url }) => url);
    const connect = (agent: string, token: string) =>
      connectBroker({ url: `${one},${other}`, random: () => 0, token, agent, waitForBroker: true });
    await using operator = await connect('operator#test', site.brokers[0]!.operatorToken);
    const tokenOf = async (agent: string) => (await issueToken(operator, { agent, role: 'worker' })).token;
    await using ann = await connect('ann', await tokenOf('ann'));
    await using bob = await connect('bob', await tokenOf('bob'));
    await using inbox = await bob.subscribe();
    const gone = Promise.all([ann, bob].map((client) => reached(client, 'reconnecting')));
    const received: string[] = [];
    const sending = (async () => {
      for (let n = 0; n < messages; n++) {
        await ann.deliver({ to: 'bob', kind: 'note', id: `m${n}` });
        if (n === messages / 2) site.brokers[0]!.process.signal('SIGKILL');
      }
    })();
    for await (const { id, seq } of inbox.messages) {
      if (!received.includes(id)) received.push(id);
      await bob.ack([seq!]).catch(() => {});
      if (received.length === messages) break;
    }
    await Promise.all([sending, gone]);
    expect([ann.url, bob.url]).toEqual([other, other]);
    expect(received).toEqual(Array.from({ length: messages }, (_, n) => `m${n}`));
    await site.up();
    // An ack that was on its way to the dead broker may have been lost: what it was for comes again, and the others don't.
    await expect.poll(() => bob.peek()).toEqual([]);
  },
);
