import type { ApprovalRecord, StandingRecord } from '@signalbox/store/journal';
import { expect, test } from 'vitest';
import { GivenApprovals } from './given-approvals.ts';

function given(clock = { now: 0, monotonic: 0 }, standing: StandingRecord[] = []): GivenApprovals {
  return new GivenApprovals(
    {
      store: { standing: async () => standing, removeStanding: async () => {} },
      mayDecide: async (deciders) => deciders.map(() => true),
      audit: { record: () => {} },
      now: () => clock.now,
      monotonic: () => clock.monotonic,
      log: () => {},
    },
    standing,
  );
}

test('a standing approval ends in time although the clock was set back, and at once if it was set forward', () => {
  const clock = { now: 1_000_000, monotonic: 0 };
  const standing = {
    ...{ id: 's1', agent: 'rosa', role: 'worker', tool: 'count', definitionHash: 'd1' },
    ...{ createdAt: 1_000_000, until: 1_060_000, by: { tokenId: 't1', agent: 'operator' } },
  };
  const inForce = given(clock, [standing]);
  clock.now = 500_000;
  // A process that starts now only knows that it was given for a minute.
  const later = given(clock, [standing]);
  clock.monotonic = 59_000;
  expect([inForce.standing(), later.standing()]).toEqual([[standing], [standing]]);
  clock.monotonic = 60_000;
  expect([inForce.standing(), later.standing()]).toEqual([[], []]);
  clock.monotonic = 0;
  clock.now = 1_060_000;
  expect(inForce.standing()).toEqual([]);
});

const record: ApprovalRecord = {
  ...{ id: 'k1', agent: 'rosa', requestId: 'r1', role: 'worker', tool: 't', definitionHash: 'd1' },
  ...{ argumentsHash: 'a1', metaHash: 'm1', arguments: '{}', hidden: 0, rule: 'roles.worker.ask[0]' },
  ...{ createdAt: 0, deadlineAt: 1000 },
};

test('an approval whose call was not sent holds for one more call that is the same in all that was approved, before its deadline', () => {
  const call = { ...record, requestId: 'r2' };
  for (const other of [
    { agent: 'walt' },
    { role: 'reader' },
    { tool: 'u' },
    { definitionHash: 'd2' },
    { argumentsHash: 'a2' },
    { metaHash: 'm2' },
  ]) {
    const clock = { now: 999, monotonic: 0 };
    const unspent = given(clock);
    unspent.addUnspent(record);
    expect(unspent.takeUnspent({ ...call, ...other }, undefined)).toBeUndefined();
    expect(unspent.takeUnspent(call, 'a key')).toBeUndefined();
    expect(unspent.takeUnspent(call, undefined)).toBe(record);
    expect(unspent.takeUnspent(call, undefined)).toBeUndefined();
    unspent.addUnspent(record);
    clock.now = 1000;
    expect(unspent.takeUnspent(call, undefined)).toBeUndefined();
    expect(unspent.isUnspent('k1')).toBe(false);
  }
});

test('a denial of the same call, also under another request, takes the approval with it', () => {
  const unspent = given();
  unspent.addUnspent(record);
  unspent.dropUnspent({ ...record, requestId: 'r2', argumentsHash: 'a2' });
  unspent.dropUnspent({ ...record, requestId: 'r2', agent: 'walt' });
  expect(unspent.isUnspent('k1')).toBe(true);
  unspent.dropUnspent({ ...record, requestId: 'r2' });
  expect(unspent.isUnspent('k1')).toBe(false);
});
