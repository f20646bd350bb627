import { expect, test } from 'vitest';
import { serverFailure } from './server-failure.ts';

const failing = { state: 'backing_off', last_error: 'it exited with code 1' } as const;

test('The last line that a failing server wrote stands behind its last error.', () => {
  const tail = 'starting\nError: cannot open database /x/y\n';
  expect(serverFailure({ ...failing, stderr_tail: tail })).toBe(
    'it exited with code 1; its last words: Error: cannot open database /x/y',
  );
});

test('Without such a line, and for a server that has recovered, the error stands alone.', () => {
  expect(serverFailure({ ...failing, stderr_tail: '' })).toBe('it exited with code 1');
  expect(serverFailure({ ...failing, stderr_tail: 'it exited with code 1' })).toBe('it exited with code 1');
  expect(serverFailure({ ...failing, state: 'ready', stderr_tail: 'listening' })).toBe(
    'it exited with code 1',
  );
  expect(serverFailure({ state: 'ejected', stderr_tail: 'bye' })).toBeUndefined();
});
