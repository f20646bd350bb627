import { expect, test } from 'vitest';
import { VerificationSlots } from './verification-slots.ts';

test('No more than so many run at a time, the others follow in order, and a failure frees its place.', async () => {
  const slots = new VerificationSlots(2);
  let running = 0;
  let highest = 0;
  const begun: number[] = [];
  const all = Array.from({ length: 6 }, (_, at) =>
    slots.run(async () => {
      begun.push(at);
      highest = Math.max(highest, ++running);
      await new Promise(setImmediate);
      running--;
      if (at % 2 === 0) throw new Error('refused');
    }),
  );
  const settled = await Promise.allSettled(all);
  expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(3);
  expect(highest).toBe(2);
  expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
});
