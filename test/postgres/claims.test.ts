import type { ClaimRequest, NewMessage } from '@signalbox/store';
import { describe, expect, it } from 'vitest';
import { serverUrl } from '../support/postgres/test-store.ts';
import { openTwoShares, type Share } from '../support/postgres/two-shares.ts';
import { message } from '../support/store/test-store.ts';

const inbox = 'role:writer';
const none = { messages: [], attempts: [], settlements: [] };
const request: ClaimRequest = { after: 0, limit: 100, maxBytes: 1e9, keys: 'in_order' };

describe.skipIf(serverUrl === undefined)('The brokers that share an inbox', () => {
  it('claim each message once, and settle what they have claimed', async () => {
    await using site = await openTwoShares();
    const { one, other } = site;
    await Promise.all([one.cluster.join(inbox), other.cluster.join(inbox)]);
    const seqs = await store(
      one,
      Array.from({ length: 60 }, (_, n) => `m${n}`),
    );
    const [here, there] = await Promise.all([
      claimed(one, { ...request, limit: 30 }),
      claimed(other, { ...request, limit: 30 }),
    ]);
    expect([...here, ...there].sort((a, b) => a - b)).toEqual(seqs);
    expect(await one.cluster.claim(inbox, request)).toEqual({ messages: [], isAll: true, upTo: seqs.at(-1) });
    await settle(other, here);
    expect(await one.inboxes.stats(inbox)).toMatchObject({ pending: 60 });
    await settle(one, here);
    await settle(other, there);
    expect(await one.inboxes.stats(inbox)).toMatchObject({ pending: 0 });
    expect(await site.schema.sql('SELECT * FROM @claim')).toEqual([]);
  });

  it('leave out attempts and takings of a message that another one has claimed, and do settle one that nobody has', async () => {
    await using site = await openTwoShares();
    const { one, other } = site;
    await Promise.all([one.cluster.join(inbox), other.cluster.join(inbox)]);
    const [first, second] = await store(one, ['first', 'second']);
    await claimed(one, { ...request, limit: 1 });
    await other.inboxes.commit({
      ...none,
      takings: [{ inbox, seq: first!, agent: 'eve' }],
      attempts: [{ inbox, seq: first!, attempts: 4 }],
    });
    expect(await one.cluster.claimAgain(inbox, first!, 'in_order')).toMatchObject({ attempts: 0 });
    await settle(other, [second!]);
    expect((await one.inboxes.read(inbox, 0, 10, 1e9)).map(({ seq }) => seq)).toEqual([first]);
  });

  it('hand out one message of a key at a time, in order, and tell each other which one is next', async () => {
    await using site = await openTwoShares();
    const { one, other } = site;
    await Promise.all([one.cluster.join(inbox), other.cluster.join(inbox)]);
    const [a1, a2, , a3] = await store(one, ['a1', 'a2', 'b1', 'a3'], ({ id }) => ({
      group: { key: id[0]! },
    }));
    expect((await one.cluster.claim(inbox, request)).messages.map(({ id }) => id)).toEqual(['a1', 'b1']);
    expect(await other.cluster.claim(inbox, request)).toMatchObject({ messages: [], isAll: true });
    expect(await other.cluster.claimAgain(inbox, a2!, 'in_order')).toBeUndefined();
    await settle(one, [a1!]);
    expect(one.heard).toContain(`freed ${inbox} ${a2}`);
    await expect.poll(() => other.heard).toContain(`freed ${inbox} ${a2}`);
    expect(await other.cluster.claimAgain(inbox, a2!, 'in_order')).toMatchObject({ id: 'a2' });
    // It is given back, so that another broker may take it, and its key with it.
    other.cluster.unclaim(inbox, [a2!], { isHandedOver: true, wasHandedOut: false, keys: [] });
    await expect.poll(() => one.heard.filter((what) => what === `freed ${inbox} ${a2}`)).toHaveLength(2);
    expect(await claimed(one)).toEqual([a2]);
    await settle(one, [a2!]);
    await expect.poll(() => other.heard).toContain(`freed ${inbox} ${a3}`);
  });

  it('keep all messages of a sender with one broker as long as that shares the inbox', async () => {
    await using site = await openTwoShares();
    const { one, other } = site;
    const byMember: ClaimRequest = { ...request, keys: 'by_member' };
    await Promise.all([one.cluster.join(inbox), other.cluster.join(inbox)]);
    const by = (sender: string) => () => ({ sender, senderAddress: sender });
    const [first] = await store(one, ['ann1', 'ann2'], by('ann'));
    expect(await claimed(one, { ...byMember, limit: 1 })).toEqual([first]);
    expect(await claimed(other, byMember)).toEqual([]);
    const bobs = await store(other, ['bob1', 'bob2'], by('bob'));
    expect(await claimed(other, byMember)).toEqual(bobs);
    const [second] = await claimed(one, byMember);
    await settle(one, [first!, second!]);
    // Nothing of the sender is in flight, and it stays where it was.
    const [third] = await store(other, ['ann3'], by('ann'));
    expect(await claimed(other, byMember)).toEqual([]);
    one.cluster.giveBack(inbox);
    await expect.poll(() => other.heard).toContain(`freed ${inbox} any`);
    expect(await claimed(other, byMember)).toEqual([third]);
    // A sender whose message no member had room for is free again.
    await one.cluster.join(inbox);
    const [kim] = await store(one, ['kim1'], by('kim'));
    expect(await claimed(one, byMember)).toEqual([kim]);
    one.cluster.unclaim(inbox, [kim!], { isHandedOver: true, wasHandedOut: false, keys: ['kim'] });
    await expect.poll(() => other.heard).toContain(`freed ${inbox} ${kim}`);
    expect(await claimed(other, byMember)).toEqual([kim]);
  });

  it('free what one of them has that gives the inbox back, or is gone', async () => {
    await using site = await openTwoShares();
    const { one, other, schema } = site;
    await Promise.all([one.cluster.join(inbox), other.cluster.join(inbox)]);
    const seqs = await store(one, ['a', 'b']);
    expect(await claimed(one)).toEqual(seqs);
    one.cluster.giveBack(inbox);
    await expect.poll(() => other.heard).toContain(`freed ${inbox} any`);
    expect(await claimed(other)).toEqual(seqs);
    await one.cluster.join(inbox);
    other.heard.length = 0;
    await schema.sql(`UPDATE @incarnation SET is_over = true WHERE broker = 'other'`);
    await expect.poll(() => one.heard).toContain(`freed ${inbox} any`);
    expect(await claimed(one)).toEqual(seqs);
    expect(await one.inboxes.stats(inbox)).toMatchObject({ pending: 2 });
  });

  it('expire what they have claimed themselves, and the one that keeps house does the rest', async () => {
    await using site = await openTwoShares();
    const { one, other } = site;
    await other.cluster.join(inbox);
    const [had] = await store(one, ['had', 'free'], () => ({ expiresAt: 2 }));
    expect(await claimed(other, { ...request, limit: 1 })).toEqual([had]);
    const now = Date.now();
    const expired = async ({ inboxes }: Share) =>
      (await inboxes.sweep({ times: [now], earliest: now, latest: now })).map(({ id }) => id);
    await expect.poll(() => expired(one)).toEqual(['free']);
    await expect.poll(() => expired(other)).toEqual(['had']);
  });

  it('lose an inbox that another one takes for itself, and take it back by sharing it', async () => {
    await using site = await openTwoShares();
    const { one, other } = site;
    await one.cluster.join(inbox);
    const [seq] = await store(one, ['a']);
    expect(await claimed(one)).toEqual([seq]);
    await other.cluster.take(inbox);
    await expect.poll(() => one.heard).toContain(`lost ${inbox}`);
    expect(await claimed(one)).toEqual([]);
    expect(await other.cluster.read(inbox, 0, 10, 1e9)).toMatchObject([{ id: 'a' }]);
    await one.cluster.join(inbox);
    await expect.poll(() => other.heard).toContain(`lost ${inbox}`);
    expect(await other.cluster.read(inbox, 0, 10, 1e9)).toEqual([]);
    expect(await claimed(one)).toEqual([seq]);
  });
});

/** Stores messages in the shared inbox, and returns their numbers. */
async function store(
  { inboxes }: Share,
  ids: readonly string[],
  more: (message: NewMessage) => Partial<NewMessage> = () => ({}),
): Promise<number[]> {
  const messages = ids.map((id) => ({ ...message(id), inbox })).map((one) => ({ ...one, ...more(one) }));
  const stored = await inboxes.commit({ ...none, messages });
  return stored.map((one) => {
    if (one.result !== 'stored') throw new Error(one.result);
    return one.seq;
  });
}

async function claimed({ cluster }: Share, how: ClaimRequest = request): Promise<number[]> {
  return (await cluster.claim(inbox, how)).messages.map(({ seq }) => seq);
}

async function settle({ inboxes }: Share, seqs: readonly number[]): Promise<void> {
  await inboxes.commit({
    ...none,
    settlements: seqs.map((seq) => ({ inbox, seq, outcome: 'acked' as const })),
  });
}
