import { expect, test } from 'vitest';
import { clashingServers } from './server-part.ts';

test.each([
  [['Files', 'files'], 'Files and files'],
  [['Files', 'web', 'files_'], 'Files and files_'],
  [['a-b', 'a b'], 'a-b and a b'],
  [['a__files', 'a'], 'a and a__files'],
  [['files', 'files2', 'files_2', 'a_files'], undefined],
  [[], undefined],
])('the servers %j clash as %j', (names, expected) => {
  const clash = clashingServers(names);
  expect(clash && `${clash.first} and ${clash.second}`).toBe(expected);
});
