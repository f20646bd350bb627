import { expect, test } from 'vitest';
import { warnAsProcessOne } from './process-one.ts';

test('Process 1 alone is warned to run under an init.', () => {
  const warnings: string[] = [];
  const warn = (text: string) => void warnings.push(text);
  warnAsProcessOne(warn, 2);
  expect(warnings).toEqual([]);
  warnAsProcessOne(warn, 1);
  expect(warnings).toEqual([expect.stringContaining('tini -- signalbox up')]);
});
