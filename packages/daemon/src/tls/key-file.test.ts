import { expect, test } from 'vitest';
import { exposedKey } from './key-file.ts';

test('A key may be read by its user and a group, and it belongs to its user or to root.', () => {
  expect(exposedKey({ uid: 7, mode: 0o100600 }, 7)).toBeUndefined();
  expect(exposedKey({ uid: 0, mode: 0o100640 }, 7)).toBeUndefined();
  expect(exposedKey({ uid: 7, mode: 0o100644 }, 7)).toContain('all users');
  expect(exposedKey({ uid: 7, mode: 0o100660 }, 7)).toContain('group');
  expect(exposedKey({ uid: 8, mode: 0o100600 }, 7)).toContain('user 8');
});
