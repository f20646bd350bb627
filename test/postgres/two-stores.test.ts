import type { Appended, InboxStore } from '@signalbox/store';
import { describe, expect, it } from 'vitest';
import { openMessages, serverUrl, testSchema } from '../support/postgres/test-store.ts';
import { message } from '../support/store/test-store.ts';

const inboxes = ['ann', 'bob', 'bob#x', 'kim', 'role:writer'];
const none = { messages: [], attempts: [], settlements: [] };

describe.skipIf(serverUrl === undefined)('Two stores on one schema', () => {
  it('number the messages of an inbox in the order in which they can be read, and store each id once', async () => {
    await using schema = await testSchema();
    const open = (broker: string) => openMessages({ ...schema, broker });
    const [one, other] = await Promise.all([open('one'), open('other')]);
    await using _one = one;
    await using _other = other;
    expect(await one.identity()).toBe(await other.identity());
    const rounds = 60;
    const read = new Map<string, number[]>(inboxes.map((inbox) => [inbox, []]));
    let isOver = false;
    const readAlong = async (): Promise<void> => {
      for (let wasOver = false; !wasOver; ) {
        wasOver = isOver;
        for (const [inbox, seqs] of read)
          for (const { seq } of await one.read(inbox, seqs.at(-1) ?? 0, 1000, 1e9)) seqs.push(seq);
      }
    };
    const results: Appended[][] = [];
    const write = async (store: InboxStore, shift: number): Promise<void> => {
      for (let round = 0; round < rounds; round++) {
        // Both write the same ids, in several inboxes and in different orders.
        const messages = inboxes.flatMap((_, i) => {
          const inbox = inboxes[(i + shift + round) % inboxes.length]!;
          return [{ ...message(`m${round}`), inbox }];
        });
        results.push(await store.commit({ ...none, messages }));
      }
    };
    const reading = readAlong();
    await Promise.all([write(one, 0), write(other, 3)]);
    isOver = true;
    await reading;
    const all = results.flat();
    expect(all.filter(({ result }) => result === 'stored')).toHaveLength(rounds * inboxes.length);
    expect(all.filter(({ result }) => result === 'duplicate')).toHaveLength(rounds * inboxes.length);
    for (const [inbox, seqs] of read) {
      expect(seqs).toHaveLength(rounds);
      expect(await other.stats(inbox)).toMatchObject({ pending: rounds, headSeq: seqs.at(-1) });
    }
    const seqs = [...read.values()].flat();
    expect(new Set(seqs).size).toBe(seqs.length);
  });

  it('keep each cap together, and settle each message once', async () => {
    await using schema = await testSchema();
    const caps = { inbox: { messages: 50 }, recipient: { messages: 70 } };
    const open = (broker: string) => openMessages({ ...schema, caps, broker });
    const [one, other] = await Promise.all([open('one'), open('other')]);
    await using _one = one;
    await using _other = other;
    const quota = { sender: { messages: 60, bytes: 1e9 }, senderToRecipient: { messages: 55, bytes: 1e9 } };
    const write = async (store: InboxStore, name: string): Promise<Appended[]> => {
      const results: Appended[] = [];
      for (let i = 0; i < 60; i++) {
        const inbox = ['ann', 'ann#x', 'bob'][i % 3]!;
        results.push(
          ...(await store.commit({
            ...none,
            messages: [{ ...message(`${name}${i}`), inbox, quota, sender: 'eve' }],
          })),
        );
      }
      return results;
    };
    const results = (await Promise.all([write(one, 'a'), write(other, 'b')])).flat();
    expect(results.filter(({ result }) => result === 'stored')).toHaveLength(60);
    expect(results.filter(({ result }) => result === 'quota_exceeded')).toHaveLength(60);
    const stats = await Promise.all(['ann', 'ann#x', 'bob'].map((inbox) => other.stats(inbox)));
    expect(stats.reduce((sum, { pending }) => sum + pending, 0)).toBe(60);
    const pending = (
      await Promise.all(['ann', 'ann#x', 'bob'].map((inbox) => one.read(inbox, 0, 100, 1e9)))
    ).flat();
    const settlements = pending.map(({ inbox, seq, id }) => ({
      inbox,
      seq,
      outcome: 'expired' as const,
      notice: { ...message(`re:${id}`), inbox: 'eve', sender: 'broker' },
    }));
    await Promise.all(
      [one, other].map(async (store, n) => {
        for (const settlement of n === 0 ? settlements : settlements.toReversed())
          await store.commit({ ...none, settlements: [settlement] });
      }),
    );
    expect(await one.stats('eve')).toMatchObject({ pending: 50 });
    for (const inbox of ['ann', 'ann#x', 'bob'])
      expect(await one.stats(inbox)).toEqual({ pending: 0, bytes: 0, headSeq: 0 });
    const [counted] = await schema.sql(
      'SELECT sum(sent)::int AS sent, sum(received)::int AS received FROM @agent',
    );
    expect(counted).toEqual({ sent: 0, received: 50 });
  });

  it('take one of two replies to a request', async () => {
    await using schema = await testSchema();
    const open = (broker: string) => openMessages({ ...schema, broker });
    const [one, other] = await Promise.all([open('one'), open('other')]);
    await using _one = one;
    await using _other = other;
    for (let round = 0; round < 30; round++) {
      const request = { ...message(`q${round}`), inbox: 'bob', openUntil: Date.now() + 1e6 };
      const [asked] = await one.commit({ ...none, messages: [request] });
      if (round % 2 === 0 && asked?.result === 'stored')
        await one.commit({ ...none, settlements: [{ inbox: 'bob', seq: asked.seq, outcome: 'acked' }] });
      const reply = (name: string) => ({
        ...message(`re:${name}${round}`),
        inbox: 'ann',
        sender: 'bob',
        senderAddress: 'bob',
        correlationId: request.id,
        answers: 'ann',
      });
      const replies = await Promise.all([
        one.commit({ ...none, messages: [reply('one')] }),
        other.commit({ ...none, messages: [reply('other')] }),
      ]);
      expect(
        replies
          .flat()
          .map(({ result }) => result)
          .sort(),
      ).toEqual(['already_answered', 'stored']);
    }
  });
});
