import { expect, test } from 'vitest';
import { differences, recordedCounts } from './count-table.ts';
import { measureCounts } from './measure-counts.ts';

const deliver = { functions: 9, files: 3, moves: 4, commits: 1, syncs: 1, writes: 1, bytes: 52 };

test('A warm message and a warm tool call, safe or unsafe, enter no more functions, and commit, sync and write no more often, than bench/counts.json records.', async () => {
  const { above, below } = differences(await measureCounts(), await recordedCounts());
  if (below.length > 0) process.stdout.write(`less than recorded:\n${below.join('\n')}\n`);
  expect(above, 'if the cost is meant: npm run bench:counts -- --record').toEqual([]);
});

test('A count that rises, also from nothing, is told apart from one that falls.', () => {
  const found = { deliver: { broker: { ...deliver, commits: 2, bytes: 50 }, worker: deliver } };
  const { above, below } = differences(found, { deliver: { broker: deliver } });
  expect(above).toContain('deliver, broker: commits 2, recorded 1');
  expect(above).toContain('deliver, worker: functions 9, recorded 0');
  expect(above).toHaveLength(8);
  expect(below).toEqual(['deliver, broker: bytes 50, recorded 52']);
});
