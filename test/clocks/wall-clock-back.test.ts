import { startTestBroker, testClock } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { barrier, connect, deliver, subscribe } from '../support/broker/wire-actions.ts';

const hour = 3_600_000;

/** A broker whose wall clock is stepped back by an hour once its first messages are through. */
async function startStepped() {
  await using opened = new AsyncDisposableStack();
  const clock = testClock();
  const { now, monotonic } = clock;
  const broker = opened.use(
    await startTestBroker({ now, monotonic, limits: { rates: { messages: 10, messagesBurst: 2 } } }),
  );
  const alice = opened.use(await connect(broker, 'alice'));
  const bob = opened.use(await connect(broker, 'bob'));
  await subscribe(bob, { ack_deadline_ms: 60_000 });
  const resources = opened.move();
  return { broker, clock, alice, bob, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

describe('a wall clock that is stepped back by an hour', () => {
  it('refuses no message, and the rate is the same as before', async () => {
    await using stepped = await startStepped();
    const { clock, alice, bob } = stepped;
    await deliver(alice, 'bob', 'before', { kind: 'note' });
    clock.step(-hour);
    await deliver(alice, 'bob', 'after', { kind: 'note' });
    expect(await bob.next('message', { id: 'after' })).toMatchObject({ remaining_ms: 7 * 24 * hour });
    alice.send({ type: 'deliver', to: 'bob', id: 'too-many', kind: 'note' }, '{}');
    expect(await alice.next('error')).toMatchObject({ code: 'rate_limited', retry_after_ms: 100 });
    clock.advance(100);
    await deliver(alice, 'bob', 'in-time', { kind: 'note' });
  });

  it('lets a status be announced a second after the last one', async () => {
    await using stepped = await startStepped();
    const { clock, alice } = stepped;
    alice.send({ type: 'announce', status: 'before' });
    await barrier(alice, 'announced');
    clock.step(-hour);
    clock.advance(1000);
    alice.send({ type: 'announce', status: 'after' });
    await barrier(alice);
    expect(alice.received.filter(({ type }) => type === 'error')).toEqual([]);
  });

  it('ends an attempt when its ack deadline is over', async () => {
    await using stepped = await startStepped();
    const { clock, alice, bob } = stepped;
    await deliver(alice, 'bob', 'held');
    await bob.next('message', { id: 'held' });
    clock.step(-hour);
    clock.advance(60_000);
    expect(await bob.next('message', { id: 'held' })).toMatchObject({ attempt: 2 });
  });
});
