import { expect, test } from 'vitest';
import { keptResultsFindings } from './kept-results.ts';

const limits = { max_results: 10, max_bytes: 1000 };

test('The doctor says what is kept of large results, warns before there is no room, and reports a full disk.', () => {
  const found = (kept: object) => keptResultsFindings({ results: 1, bytes: 10, ...limits, ...kept });
  expect(keptResultsFindings(undefined)).toEqual([]);
  expect(found({ results: 0 })).toEqual([]);
  expect(found({})).toMatchObject([{ status: 'ok', text: expect.stringContaining('1 large result kept') }]);
  for (const full of [{ results: 8 }, { bytes: 800 }])
    expect(found(full)).toMatchObject([{ status: 'warning' }]);
  expect(found({ problem: 'the disk is full' })).toMatchObject([
    { status: 'failed', text: 'a large result was not kept: the disk is full' },
  ]);
});
