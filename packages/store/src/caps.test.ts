import { expect, it } from 'vitest';
import { type Amount, receivingExcess } from './caps.ts';

const cap: Amount = { messages: 45_000, bytes: 230 * 2 ** 20 };

/** Lets `count` senders store messages of `size` bytes in turns until each is refused. Returns what they have together. */
function fill(count: number, size: number): { received: Amount; refusals: unknown[] } {
  const received = { messages: 0, bytes: 0 };
  const refusals: unknown[] = [];
  let senders = Array.from({ length: count }, () => ({ messages: 0, bytes: 0 }));
  while (senders.length > 0) {
    senders = senders.filter((own) => {
      const excess = receivingExcess('privilegedRecipient', cap, received, own, size);
      if (excess) refusals.push(excess);
      else {
        for (const amount of [own, received]) {
          amount.messages++;
          amount.bytes += size;
        }
      }
      return !excess;
    });
  }
  return { received, refusals };
}

it.each([
  [1, 0, 'messages'],
  [8, 200, 'messages'],
  [8, 4 * 2 ** 20, 'bytes'],
  [45, 2 ** 20, 'bytes'],
  [1000, 400, 'messages'],
] as const)(
  'leaves another sender as much as %i senders of messages of %i bytes have each',
  (count, size, unit) => {
    const { received, refusals } = fill(count, size);
    expect(new Set(refusals.map((one) => JSON.stringify(one)))).toEqual(
      new Set([JSON.stringify({ of: 'privilegedRecipient', unit, isKept: true })]),
    );
    const left = cap[unit] - received[unit];
    expect(left).toBeGreaterThanOrEqual(Math.floor(cap[unit] / (count + 1)));
    const next = (bytes: number) =>
      receivingExcess('privilegedRecipient', cap, received, { messages: 0, bytes: 0 }, bytes);
    expect(next(unit === 'bytes' ? left : 0)).toBeUndefined();
    expect(next(cap.bytes - received.bytes + 1)).toEqual({ of: 'privilegedRecipient', unit: 'bytes' });
  },
);

it('lets a message without a quota in until the cap is reached', () => {
  const received = { messages: cap.messages - 1, bytes: 0 };
  expect(receivingExcess('recipient', cap, received, undefined, cap.bytes)).toBeUndefined();
  received.messages++;
  expect(receivingExcess('recipient', cap, received, undefined, 0)).toEqual({
    of: 'recipient',
    unit: 'messages',
  });
});
