import { expect, test } from 'vitest';
import { KeyFilter } from './key-filter.ts';

const odd = ['', ' ', 'a', 'é', '\ud800', '__proto__', '\u0000', 'x'.repeat(1000), '0'];
const keys = odd.flatMap((agent) => odd.map((requestId) => ({ agent, requestId })));

test('a key that was added is never denied', () => {
  const filter = new KeyFilter();
  for (const [at, key] of keys.entries()) {
    filter.add(key);
    for (const added of keys.slice(0, at + 1)) expect(filter.mayHold(added)).toBe(true);
  }
});

test('nearly all keys that were not added are denied', () => {
  const filter = new KeyFilter();
  const key = (n: number) => ({
    agent: 'rosa',
    requestId: `01890a5d-ac96-774b-${n.toString(16).padStart(12, '0')}`,
  });
  for (let n = 0; n < 20_000; n++) filter.add(key(n));
  let held = 0;
  for (let n = 20_000; n < 40_000; n++) if (filter.mayHold(key(n))) held++;
  // A filter of that size and filling is wrong about one key in two hundred.
  expect(held).toBeLessThan(300);
});
