import { expect, it } from 'vitest';
import { connectionsWithin, openFileLimit } from './descriptor-limits.ts';

const wanted = { total: 4096, reserved: 32, unauthenticated: 256 };

it('leaves the numbers alone where descriptors are plenty, and lowers them where they are few', () => {
  expect(connectionsWithin(wanted, Number.POSITIVE_INFINITY)).toEqual(wanted);
  expect(connectionsWithin(wanted, 5000)).toEqual(wanted);
  const most = { total: 1024 - 96 - 232, reserved: 32, unauthenticated: 232 };
  expect(connectionsWithin(wanted, 1024)).toEqual(most);
  const few = { total: 10, reserved: 9, unauthenticated: 5 };
  expect(connectionsWithin(few, 1024)).toEqual(few);
  expect(connectionsWithin(wanted, 176)).toEqual({ total: 60, reserved: 15, unauthenticated: 20 });
  expect(connectionsWithin(wanted, 20)).toEqual({ total: 1, reserved: 0, unauthenticated: 1 });
});

it('reads the limit of this process', () => {
  expect(openFileLimit()).toBeGreaterThan(100);
});
