import { expect, test } from 'vitest';
import { HandshakeQueue } from './handshake-queue.ts';

/** A queue whose time is moved by hand. */
function handQueue(perSecond: number) {
  let now = 0;
  let due: { at: number; work: () => void } | undefined;
  const queue = new HandshakeQueue({
    perSecond,
    monotonic: () => now,
    after: (ms, work) => {
      due = { at: now + ms, work };
    },
  });
  const begun: string[] = [];
  return {
    begun,
    add: (address: string, name: string, isThere = true) =>
      queue.add(address, () => {
        if (isThere) begun.push(name);
        return isThere;
      }),
    passTo(ms: number): void {
      while (due !== undefined && due.at <= ms) {
        const { at, work } = due;
        due = undefined;
        now = at;
        work();
      }
      now = ms;
    },
  };
}

test('A flood from one address is begun at the rate, and a client of another address waits for one of it at most.', () => {
  const { begun, add, passTo } = handQueue(100);
  for (let at = 0; at < 500; at++) add('192.0.2.1', `flood ${at}`);
  passTo(1000);
  expect(begun.length).toBeGreaterThan(90);
  expect(begun.length).toBeLessThan(110);
  const before = begun.length;
  add('192.0.2.2', 'honest');
  passTo(1100);
  expect(begun.indexOf('honest') - before).toBeLessThan(2);
  expect(begun).toContain('honest');
});

test('A client that has left costs nothing.', () => {
  const { begun, add, passTo } = handQueue(100);
  for (let at = 0; at < 500; at++) add('192.0.2.1', 'gone', false);
  add('192.0.2.1', 'there');
  passTo(0);
  expect(begun).toEqual(['there']);
});
