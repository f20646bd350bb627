import { expect, test } from 'vitest';
import { notReadyLines, stillStarting } from './not-ready.ts';

test('Servers that have told no tool are named with their state, and a failure with its reason.', () => {
  expect(
    notReadyLines([
      { server: 'everything', state: 'starting' },
      { server: 'git', state: 'failed', reason: "its command 'uvx' was not found (ENOENT)" },
      { server: 'files', state: 'starting' },
    ]),
  ).toEqual([
    'everything and files are still starting',
    "git failed to start: its command 'uvx' was not found (ENOENT)",
  ]);
  expect(notReadyLines()).toEqual([]);
});

test('Many names are cut.', () => {
  expect(stillStarting(['a'])).toBe('a is still starting');
  expect(stillStarting(['a', 'b', 'c'])).toBe('a, b and c are still starting');
  expect(stillStarting([...'abcdefgh'])).toBe('a, b, c, d, e and 3 more are still starting');
});
