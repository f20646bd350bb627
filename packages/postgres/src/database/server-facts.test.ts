import { expect, it } from 'vitest';
import { receiptMeaning } from './server-facts.ts';
import { refusalOf } from './store-errors.ts';

it.each([
  ['on', 'on', '', 'fsynced'],
  ['on', 'on', 'one', 'replicated'],
  ['on', 'remote_apply', 'one', 'replicated'],
  ['on', 'remote_write', 'one', 'fsynced'],
  ['on', 'local', 'one', 'fsynced'],
  ['on', 'off', 'one', 'written'],
  ['off', 'on', 'one', 'written'],
])(
  'tells what a commit survives with fsync %s, synchronous_commit %s and standbys "%s": %s',
  (fsync, synchronousCommit, standbyNames, meaning) => {
    expect(receiptMeaning({ fsync, synchronousCommit, standbyNames })).toBe(meaning);
  },
);

it('refuses a server that is too old, and says which one is needed', () => {
  expect(refusalOf({ version: 130_014, isStandby: false }, 'here')).toMatchObject({
    code: 'store_refused',
    message: expect.stringContaining('PostgreSQL 14 or newer'),
  });
  expect(refusalOf({ version: 140_000, isStandby: false }, 'here')).toBeUndefined();
});
