import type { ApprovalRecord } from '@signalbox/store/journal';
import { expect, test } from 'vitest';
import { UnspentApprovals } from './unspent-approvals.ts';

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
    const unspent = new UnspentApprovals();
    unspent.add(record);
    expect(unspent.take({ ...call, ...other }, undefined, 999)).toBeUndefined();
    expect(unspent.take(call, 'a key', 999)).toBeUndefined();
    expect(unspent.take(call, undefined, 999)).toBe(record);
    expect(unspent.take(call, undefined, 999)).toBeUndefined();
    unspent.add(record);
    expect(unspent.take(call, undefined, 1000)).toBeUndefined();
    expect(unspent.has('k1')).toBe(false);
  }
});

test('a denial of the same call, also under another request, takes the approval with it', () => {
  const unspent = new UnspentApprovals();
  unspent.add(record);
  unspent.drop({ ...record, requestId: 'r2', argumentsHash: 'a2' });
  unspent.drop({ ...record, requestId: 'r2', agent: 'walt' });
  expect(unspent.has('k1')).toBe(true);
  unspent.drop({ ...record, requestId: 'r2' });
  expect(unspent.has('k1')).toBe(false);
});
