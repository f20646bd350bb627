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

/** The properties of a key press that decide about its action. */
export interface PressedKey {
  key: string;
  repeat: boolean;
  defaultPrevented: boolean;
  altKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  target: unknown;
}

/**
 * Returns the action of a key. A key that is held down moves through the list, and begins no decision; a key for a field is left to the
 * field.
 */
export function keyOf({ key, repeat, target, ...press }: PressedKey): ListKey | undefined {
  const does = keys[key];
  if (press.altKey || press.ctrlKey || press.metaKey || press.defaultPrevented) return undefined;
  const isInForm =
    (target as Element | null)?.closest?.('form, dialog, input, select, textarea, .block') != null;
  if (isInForm || (repeat && (does === 'approve' || does === 'deny'))) return undefined;
  return does;
}
