import { expect, test } from 'vitest';
import { beforeDeadline } from './served-inbox.ts';

const failure = { failed: 'its program ended with exit code 3', retryMs: 30_000, counts: true, dead: false };

test.each<[string, number | undefined, boolean, object]>([
  ['has no deadline', undefined, false, failure],
  ['has a late deadline', 90_000, false, failure],
  ['has a near deadline', 20_000, false, { ...failure, retryMs: 10_000 }],
  ['has time for one more', 2_000, false, { ...failure, retryMs: 1_000 }],
  ['has no time for one more', 1_500, false, { ...failure, retryMs: 1_000, dead: true }],
  ['has none, but other members', 1_500, true, { ...failure, retryMs: 1_000 }],
])('A failed message that %s comes again in time, or ends with its reason.', (_, leftMs, isOfGroup, ends) => {
  expect(beforeDeadline(failure, leftMs, isOfGroup)).toEqual(ends);
});
