import { expect, test } from 'vitest';
import { isOwnFace } from './own-face.ts';

test('A long command line is judged quickly.', () => {
  const line = 'signalbox '.repeat(40_000);
  expect(isOwnFace({ command: 'sh', args: ['-c', line] })).toBe(false);
  expect(isOwnFace({ command: 'sh', args: ['-c', `${line} worker mcp`] })).toBe(true);
}, 2000);
