import { isForPage, type PressedKey } from '../../model/page-keys.ts';

/** The keys of the list of waiting calls, and their actions. */
export type ListKey = 'next' | 'before' | 'approve' | 'deny';

const keys: Readonly<Record<string, ListKey>> = {
  ArrowDown: 'next',
  j: 'next',
  ArrowUp: 'before',
  k: 'before',
  a: 'approve',
  d: 'deny',
};

/**
 * Returns the action of a key. A key that is held down moves through the list, and begins no decision; a key for a field is left to the
 * field.
 */
export function keyOf(press: PressedKey): ListKey | undefined {
  const does = keys[press.key];
  if (!isForPage(press) || (press.repeat && (does === 'approve' || does === 'deny'))) return undefined;
  return does;
}
