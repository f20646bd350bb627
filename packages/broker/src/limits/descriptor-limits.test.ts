import { expect, it } from 'vitest';
import { connectionsWithin, openFileLimit } from './descriptor-limits.ts';

const wanted = { total: 4096, unauthenticated: 256 };

it('leaves the numbers alone where descriptors are plenty, and lowers both where they are few', () => {
  expect(connectionsWithin(wanted, Number.POSITIVE_INFINITY)).toEqual(wanted);
  expect(connectionsWithin(wanted, 5000)).toEqual(wanted);
  expect(connectionsWithin(wanted, 1024)).toEqual({ total: 1024 - 96 - 232, unauthenticated: 232 });
  expect(connectionsWithin({ total: 10, unauthenticated: 5 }, 1024)).toEqual({
    total: 10,
    unauthenticated: 5,
  });
  expect(connectionsWithin(wanted, 20)).toEqual({ total: 1, unauthenticated: 1 });
});

it('reads the limit of this process', () => {
  expect(openFileLimit()).toBeGreaterThan(100);
});
