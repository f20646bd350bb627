import { expect, it } from 'vitest';
import { type CountedLetter, surplusOf } from './dead-letter-surplus.ts';

const bounds = { maxCount: 10, maxBytes: 1000, maxCountPerAgent: 6, maxBytesPerAgent: 600 };

/** Makes letters of one byte, the oldest first: `ann>bob` is one of ann to bob. */
function letters(...names: string[]): CountedLetter[] {
  return names.map((name, seq) => {
    const [sender = '', recipient = ''] = name.split('>');
    return { seq, size: 1, sender, recipient };
  });
}

function dropped(all: readonly CountedLetter[], changed = {}): number[] {
  return [...surplusOf(all, { ...bounds, ...changed })].map(({ seq }) => seq).sort((a, b) => a - b);
}

it('drops nothing within the bounds', () => {
  expect(dropped(letters(...Array(6).fill('ann>bob'), ...Array(4).fill('eve>kim')))).toEqual([]);
});

it('keeps the newest ones of each sender', () => {
  const all = letters('eve>a', ...Array.from({ length: 8 }, (_, i) => `ann>r${i}`));
  expect(dropped(all)).toEqual([1, 2]);
  expect(
    dropped(
      all.map((one) => ({ ...one, size: 200 })),
      { maxBytes: 1e6 },
    ),
  ).toEqual([1, 2, 3, 4, 5]);
});

it('takes from the sender with the most where they are too many for one recipient, or in all', () => {
  const forBob = letters('kim>bob', 'eve>bob', ...Array(5).fill('ann>bob'), 'ann>bob');
  expect(dropped(forBob)).toEqual([2, 3]);
  const old = ['kim>a', 'eve>b', 'eve>c', 'sue>d'];
  const many = letters(...old, ...Array.from({ length: 6 }, (_, i) => `ann>r${i}`), 'kim>e', 'kim>f');
  expect(dropped(many)).toEqual([4, 5]);
});
