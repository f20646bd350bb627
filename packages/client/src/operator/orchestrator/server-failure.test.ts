import { expect, test } from 'vitest';
import { serverFailure } from './server-failure.ts';

const failing = { state: 'backing_off', last_error: 'it exited with code 1' } as const;

test('The last line that a failing server wrote stands behind its last error.', () => {
  const tail = 'starting\nError: cannot open database /x/y\n';
  expect(serverFailure({ ...failing, stderr_tail: tail })).toBe(
    'it exited with code 1; its last words: Error: cannot open database /x/y',
  );
});

test.each([
  [
    'Node',
    [
      'node:internal/modules/cjs/loader:1210',
      "Error: Cannot find module '/x.js'",
      '    at Module._load (node:internal)',
      "  code: 'MODULE_NOT_FOUND',",
      '}',
      'Node.js v24.21.0',
    ],
    "Error: Cannot find module '/x.js'",
  ],
  [
    'npm',
    [
      'npm error code E404',
      'npm error 404 Not Found - GET https://registry.example/x',
      'npm error 404 tarball, folder, http url, or git url.',
      'npm error A complete log of this run can be found in: /x.log',
    ],
    'npm error 404 Not Found - GET https://registry.example/x',
  ],
  [
    'Python',
    [
      'Traceback (most recent call last):',
      '  File "x.py", line 1',
      'ModuleNotFoundError: No module named mcp',
      '',
    ],
    'ModuleNotFoundError: No module named mcp',
  ],
])('Of what %s writes, the line that names the error is shown.', (_, lines, line) => {
  expect(serverFailure({ ...failing, stderr_tail: lines.join('\n') })).toBe(
    `it exited with code 1; its last words: ${line}`,
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
