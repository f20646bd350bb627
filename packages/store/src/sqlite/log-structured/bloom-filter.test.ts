import { expect, it } from 'vitest';
import { BloomFilter, hashOfId } from './bloom-filter.ts';

/** The approximate number of ids in the segments that share a filter. */
const many = 32_000;

const kinds: [string, (i: number) => string][] = [
  ['that count up', (i) => `call-${i}`],
  ['that sort by time', (i) => `01k${(1_800_000_000_000 + i).toString(36)}-0`],
  ['in no order', (i) => `${Math.imul(i, 0x9e3779b1).toString(36)}`],
];

it.each(kinds)('never forgets one of many ids %s, and takes few others for one of them', (_, idOf) => {
  const filter = new BloomFilter();
  const ids = Array.from({ length: 2 * many }, (_, i) => idOf(i));
  const absent = ids.splice(many);
  for (const id of ids) filter.add(hashOfId(id));
  expect(ids.filter((id) => !filter.mayHold(hashOfId(id)))).toEqual([]);
  expect(absent.filter((id) => filter.mayHold(hashOfId(id))).length).toBeLessThan(0.03 * many);
});
