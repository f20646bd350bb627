import { signal } from '@preact/signals';
import { hrefOf } from './route.ts';

/** A key press, as far as it decides about its action. */
export interface PressedKey {
  key: string;
  repeat: boolean;
  defaultPrevented: boolean;
  altKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  target: unknown;
}

/** True if a key is for the page: it has no modifier, and neither a field nor a box that scrolls has the focus. */
export function isForPage({ target, ...press }: Omit<PressedKey, 'key' | 'repeat'>): boolean {
  if (press.altKey || press.ctrlKey || press.metaKey || press.defaultPrevented) return false;
  return (target as Element | null)?.closest?.('form, dialog, input, select, textarea, .block') == null;
}

/** An action of a key on every view. */
export type PageKey = 'help' | 'search' | 'jump' | { view: string };

/**
 * Returns the action of a key on every view; `undefined` if it has none. `jumps` has the letters that go to a view after `g`, which was the
 * key before if `isJump`.
 */
export function pageKeyOf(
  press: PressedKey,
  { jumps, isJump }: { jumps: Readonly<Record<string, string>>; isJump: boolean },
): PageKey | undefined {
  if (press.repeat || !isForPage(press)) return undefined;
  if (isJump) return Object.hasOwn(jumps, press.key) ? { view: jumps[press.key]! } : undefined;
  return ({ '?': 'help', '/': 'search', g: 'jump' } as const)[press.key];
}

/** True while the list of the keys is shown. */
export const keysShown = signal(false);

/** True from the press of `/` on a view without a search until the field of another view appears. */
let isSearchWanted = false;

/** Focuses the search of the view. If it has none, goes to the conversations and focuses theirs. */
export function goToSearch(): void {
  const field = document.querySelector<HTMLInputElement>('main input[type="search"]');
  if (field) field.select();
  else {
    isSearchWanted = true;
    location.hash = hrefOf('conversations');
  }
}

/** Focuses a search that appears, if `/` asked for one. */
export function focusIfWanted(field: HTMLInputElement | null): void {
  if (!isSearchWanted || !field) return;
  isSearchWanted = false;
  field.focus();
}
