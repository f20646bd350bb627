/** The keys of the list of calls that wait, and their actions. */
export type ListKey = 'next' | 'before' | 'approve' | 'deny';

const keys: Readonly<Record<string, ListKey>> = {
  ArrowDown: 'next',
  j: 'next',
  ArrowUp: 'before',
  k: 'before',
  a: 'approve',
  d: 'deny',
};

/** The part of a key press that decides what it does. */
export interface PressedKey {
  key: string;
  repeat: boolean;
  defaultPrevented: boolean;
  altKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  target: unknown;
}

/** Returns what a key does. A key that is held down goes through the list, and begins no decision; one for a field is left to it. */
export function keyOf({ key, repeat, target, ...press }: PressedKey): ListKey | undefined {
  const does = keys[key];
  if (press.altKey || press.ctrlKey || press.metaKey || press.defaultPrevented) return undefined;
  const isInForm =
    (target as Element | null)?.closest?.('form, dialog, input, select, textarea, .block') != null;
  if (isInForm || (repeat && (does === 'approve' || does === 'deny'))) return undefined;
  return does;
}
