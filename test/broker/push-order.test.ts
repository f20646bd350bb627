import { connectWire, startTestBroker } from '@signalbox/testing';
import { expect, it } from 'vitest';

it('a committed send does not report failure: the receipt comes although the push meets a dead socket', async () => {
  await using broker = await startTestBroker();
  const token = await broker.token('bob');
  await using alice = await connectWire(broker.url, { agent: 'alice', token: await broker.token('alice') });
  for (let round = 0; round < 10; round++) {
    const id = `m${round}`;
    await using bob = await connectWire(broker.url, { agent: 'bob', token });
    bob.send({ type: 'subscribe', request_id: 's' });
    await bob.next('subscribed');
    // The broker learns of this death before, during or after its push: either way the message is on disk.
    alice.send({ type: 'deliver', to: 'bob', id, kind: 'note' }, '{}');
    bob.socket.terminate();
    expect(await alice.next(['delivered', 'error'], { id })).toEqual({ type: 'delivered', id });
    await using successor = await connectWire(broker.url, { agent: 'bob', token });
    successor.send({ type: 'subscribe', request_id: 's' });
    const { seq } = await successor.next('message', { id });
    successor.send({ type: 'ack', seqs: [seq], request_id: 'a' });
    expect(await successor.next('ack_result')).toMatchObject({ accepted: [seq] });
  }
});

it('a subscribe that overlaps live pushes neither duplicates nor skips: the cut-over is by sequence number', async () => {
  await using broker = await startTestBroker({
    durability: 'process',
    limits: { senderToRecipient: { messages: 5000 } },
  });
  const token = await broker.token('bob');
  await using alice = await connectWire(broker.url, { agent: 'alice', token: await broker.token('alice') });
  await using bob = await connectWire(broker.url, { agent: 'bob', token });
  const ids = Array.from({ length: 2000 }, (_, i) => `m${i}`);
  const leases = 20;
  for (const [i, id] of ids.entries()) {
    alice.send({ type: 'deliver', to: 'bob', id, kind: 'note' }, '{}');
    if (i % (ids.length / leases) === 0) {
      bob.send({ type: 'subscribe', request_id: `s${i}`, window: 10_000 });
      await new Promise(setImmediate);
    }
  }
  await alice.next('delivered', { id: ids.at(-1) });
  const last = await bob.next('subscribed', { request_id: `s${ids.length - ids.length / leases}` });
  await expect.poll(() => pushedSince(bob.received, last).length).toBe(ids.length);
  expect(pushedSince(bob.received, last)).toEqual(ids);
  const subscriptions = bob.received.filter(({ type }) => type === 'subscribed');
  expect(subscriptions).toHaveLength(leases);
  for (const subscribed of subscriptions) {
    const seen = pushedSince(bob.received, subscribed);
    expect(seen).toEqual(ids.slice(0, seen.length));
  }
});

/** The ids pushed in the lease that this frame began. */
function pushedSince<F extends { type: string; id?: unknown }>(
  received: readonly F[],
  subscribed: F,
): unknown[] {
  const rest = received.slice(received.indexOf(subscribed) + 1);
  const end = rest.findIndex(({ type }) => type === 'subscribed');
  const lease = end < 0 ? rest : rest.slice(0, end);
  return lease.filter(({ type }) => type === 'message').map(({ id }) => id);
}
