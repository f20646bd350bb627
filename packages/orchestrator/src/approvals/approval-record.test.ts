import { expect, test } from 'vitest';
import { differenceFrom, isSameCall } from './approval-record.ts';

const bound = {
  ...{ agent: 'rosa', requestId: 'r1', role: 'worker', tool: 't' },
  ...{ definitionHash: 'd1', argumentsHash: 'a1', metaHash: 'm1' },
};

test('an approval is for no call with another _meta, and yet such a call is the same for its caller', () => {
  const { metaHash: _, ...without } = bound;
  expect(differenceFrom(bound, bound)).toBeUndefined();
  expect(differenceFrom(bound, { ...bound, metaHash: 'm2' })).toBe("its '_meta' changed");
  expect(differenceFrom(bound, without)).toBe("its '_meta' changed");
  expect(differenceFrom(without, bound)).toBe("its '_meta' changed");
  expect(isSameCall(bound, { ...bound, metaHash: 'm2' })).toBe(true);
  expect(isSameCall(bound, { ...bound, argumentsHash: 'a2' })).toBe(false);
});
