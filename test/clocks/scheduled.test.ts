import { startTestBroker, testClock } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { admin, connect, connectOperator, deliver, subscribe } from '../support/broker/wire-actions.ts';

const minute = 60_000;
const hour = 60 * minute;

async function startBroker() {
  await using opened = new AsyncDisposableStack();
  const clock = testClock();
  const { now, monotonic } = clock;
  const broker = opened.use(await startTestBroker({ now, monotonic }));
  const alice = opened.use(await connect(broker, 'alice'));
  const bob = opened.use(await connect(broker, 'bob'));
  await subscribe(bob);
  for (const minutes of [10, 90]) {
    const fields = { kind: 'note', not_before_ms: minutes * minute };
    await deliver(alice, 'bob', `in ${minutes}`.replace(' ', '-'), fields);
  }
  const ids = () => bob.received.filter(({ type }) => type === 'message').map(({ id }) => id);
  const resources = opened.move();
  return {
    broker,
    clock,
    bob,
    /** Waits for a message that is not scheduled. Returns what has come. */
    async plain(id: string) {
      await deliver(alice, 'bob', id, { kind: 'note' });
      await bob.next('message', { id });
      return ids();
    },
    /** Waits for a message that is sent now, so that everything due before it was handed out. Returns what has come. */
    async come(id: string) {
      await deliver(alice, 'bob', id, { kind: 'note', not_before_ms: 1 });
      clock.advance(1);
      await bob.next('message', { id });
      return ids();
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

it('a clock that goes back delays what is not due, and nothing else', async () => {
  await using opened = await startBroker();
  const { clock, bob, come } = opened;
  clock.step(-hour);
  expect(await come('a')).toEqual(['a']);
  clock.advance(10 * minute);
  expect(await come('b')).toEqual(['a', 'b']);
  clock.advance(hour);
  expect(await bob.next('message', { id: 'in-10' })).toBeDefined();
});

it('a clock that leaps forward hands out nothing early: what the leap made due waits for five minutes', async () => {
  await using opened = await startBroker();
  const { clock, bob, come, plain } = opened;
  clock.step(hour);
  expect(await plain('a')).toEqual(['a']);
  clock.advance(5 * minute - 1);
  expect(await plain('b')).toEqual(['a', 'b']);
  clock.advance(1);
  await bob.next('message', { id: 'in-10' });
  expect(await come('c')).toEqual(['a', 'b', 'in-10', 'c']);
});

it('a leap that is undone leaves the times as they were', async () => {
  await using opened = await startBroker();
  const { clock, bob, come, plain } = opened;
  clock.step(2 * hour);
  expect(await plain('x')).toEqual(['x']);
  clock.step(-2 * hour);
  expect(await come('a')).toEqual(['x', 'a']);
  clock.advance(10 * minute);
  expect(await bob.next('message', { id: 'in-10' })).toBeDefined();
});

it('clock accept hands out at once what the leap made due', async () => {
  await using opened = await startBroker();
  const { clock, bob, broker } = opened;
  await using operator = await connectOperator(broker);
  clock.step(hour);
  expect(await admin(operator, 'clock')).toHaveProperty('hold');
  await admin(operator, 'clock_accept');
  expect(await bob.next('message', { id: 'in-10' })).toBeDefined();
});
