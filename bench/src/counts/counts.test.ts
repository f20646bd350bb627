import { expect, test } from 'vitest';
import { differences } from './count-table.ts';

const deliver = { functions: 9, files: 3, moves: 4, commits: 1, syncs: 1, writes: 1, bytes: 52 };

test('A count that rises, also from nothing, is told apart from one that falls.', () => {
  const found = { deliver: { broker: { ...deliver, commits: 2, bytes: 50 }, worker: deliver } };
  const { above, below } = differences(found, { deliver: { broker: deliver } });
  expect(above).toContain('deliver, broker: commits 2, recorded 1');
  expect(above).toContain('deliver, worker: functions 9, recorded 0');
  expect(above).toHaveLength(8);
  expect(below).toEqual(['deliver, broker: bytes 50, recorded 52']);
});
