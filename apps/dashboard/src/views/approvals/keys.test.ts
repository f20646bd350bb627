import { expect, test } from 'vitest';
import type { PressedKey } from '../../model/page-keys.ts';
import { keyOf } from './keys.ts';

const press = (key: string, change: Partial<PressedKey> = {}) =>
  keyOf({
    ...{ key, repeat: false, defaultPrevented: false, altKey: false, ctrlKey: false, metaKey: false },
    target: { closest: () => null },
    ...change,
  });

test('Keys choose a call and begin a decision, and one that is held down only chooses.', () => {
  expect(['j', 'ArrowDown', 'k', 'ArrowUp', 'a', 'd', 'x', 'A'].map((key) => press(key))).toEqual([
    ...['next', 'next', 'before', 'before', 'approve', 'deny', undefined, undefined],
  ]);
  expect(['j', 'a', 'd'].map((key) => press(key, { repeat: true }))).toEqual(['next', undefined, undefined]);
});

test('Keys for a field, keys with Ctrl and keys that something else took are left alone.', () => {
  expect(press('a', { target: { closest: () => ({}) } })).toBeUndefined();
  for (const change of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }, { defaultPrevented: true }])
    expect(press('a', change)).toBeUndefined();
});
