import { expect, it } from 'vitest';
import { decodeSettled, encodeSettled, type Settled } from './settled-message.ts';

const first: Settled = {
  id: 'a',
  inbox: 'inbox',
  sender: 'ann',
  senderAddress: 'ann#one',
  kind: 'note',
  correlationId: null,
  seq: 1,
  size: 0,
  createdAt: 1_800_000_000_000,
  at: 1_800_000_000_001,
  outcome: 'acked',
  reason: null,
};
const hostile = '"]\\,\u0000\n{}\ud800 😀 __proto__';

const changes: Partial<Settled>[] = [
  {},
  { correlationId: 'c' },
  ...(['id', 'inbox', 'sender', 'senderAddress', 'kind', 'correlationId', 'reason'] as const).map(
    (field) => ({
      [field]: hostile,
    }),
  ),
  { correlationId: '' },
  { seq: 2 ** 40, size: 2 ** 33 },
  { createdAt: 0 },
  { at: 0 },
  { outcome: 'dead' },
];

it('reads what it wrote, whatever neighbours have in common', () => {
  const messages = changes.flatMap((one) =>
    changes.flatMap((other) => [
      { ...first, ...one },
      { ...first, ...one },
      { ...first, ...other },
    ]),
  );
  expect(decodeSettled(encodeSettled(messages))).toEqual(messages);
  expect(decodeSettled(encodeSettled([]))).toEqual([]);
});

it('writes what neighbours have in common once', () => {
  const many = Array.from({ length: 100 }, (_, i) => ({ ...first, seq: i, id: `id-${i}` }));
  expect(encodeSettled(many).length).toBeLessThan(100 * '[99,0,"id-99"],'.length + 200);
});
