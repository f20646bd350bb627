import { expect, test } from 'vitest';
import { EventRing } from './event-ring.ts';

test('A reader gets what came since it read last, and is told how much it missed.', () => {
  const ring = new EventRing<string>(3);
  expect(ring.since(0, 10)).toEqual({ events: [], missed: 0 });
  for (const event of ['a', 'b']) ring.push(event);
  expect(ring.since(1, 10)).toEqual({ events: ['b'], missed: 0 });
  expect(ring.since(0, 1)).toEqual({ events: ['b'], missed: 1 });
  for (const event of ['c', 'd', 'e']) ring.push(event);
  expect(ring.since(1, 10)).toEqual({ events: ['c', 'd', 'e'], missed: 1 });
  expect(ring.since(ring.last, 10)).toEqual({ events: [], missed: 0 });
});
