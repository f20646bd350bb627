import { expect, test } from 'vitest';
import { differences, recordedCounts } from './count-table.ts';
import { measureCounts } from './measure-counts.ts';

test('A warm message and a warm tool call, safe or unsafe, enter no more functions, and commit, sync and write no more often, than bench/counts.json records.', async () => {
  const { above, below } = differences(await measureCounts(), await recordedCounts());
  if (below.length > 0) process.stdout.write(`less than recorded:\n${below.join('\n')}\n`);
  expect(above, 'if the cost is meant: npm run bench:counts -- --record').toEqual([]);
});
