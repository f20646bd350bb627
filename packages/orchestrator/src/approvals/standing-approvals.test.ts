import { expect, test } from 'vitest';
import { StandingApprovals } from './standing-approvals.ts';

test('a standing approval ends in time although the clock was set back, and at once if it was set forward', () => {
  const clock = { now: 1_000_000, monotonic: 0 };
  const standing = {
    ...{ id: 's1', agent: 'rosa', role: 'worker', tool: 'count', definitionHash: 'd1' },
    ...{ createdAt: 1_000_000, until: 1_060_000, by: { tokenId: 't1', agent: 'operator' } },
  };
  const store = { removeStanding: async () => {} };
  const open = () =>
    new StandingApprovals(
      store,
      [standing],
      () => clock.now,
      () => clock.monotonic,
    );
  const inForce = open();
  clock.now = 500_000;
  // A process that starts now only knows that it was given for a minute.
  const later = open();
  clock.monotonic = 59_000;
  expect([inForce.list(), later.list()]).toEqual([[standing], [standing]]);
  clock.monotonic = 60_000;
  expect([inForce.list(), later.list()]).toEqual([[], []]);
  clock.monotonic = 0;
  clock.now = 1_060_000;
  expect(inForce.list()).toEqual([]);
});
