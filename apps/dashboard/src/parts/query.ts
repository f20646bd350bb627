/** A search as people type it: chips such as `agent:rob`, and words. */
export interface Query {
  chips: Readonly<Record<string, string>>;
  /** The text that is no chip. */
  rest: string;
}

/**
 * Takes the chips with one of these keys out of a text. A value with spaces stands in quotation marks. A chip at the end of the text is
 * taken only if the text is `whole`: somebody may still type it.
 */
export function takeChips(text: string, keys: readonly string[], whole: boolean): Query {
  const chips: Record<string, string> = {};
  const rest = text.replace(/(^|\s)(\w+):("[^"]*"|[^\s"]+)(\s|$)/g, (all, before, key, value, after) => {
    if (!keys.includes(key) || (after === '' && !whole)) return all;
    chips[key] = value.replaceAll('"', '');
    return before;
  });
  return { chips, rest };
}

/** Returns the words of a text without a chip that somebody still types. */
export function wordsOf(text: string, keys: readonly string[]): string {
  const isChip = (word: string): boolean => keys.some((key) => word.startsWith(`${key}:`));
  return text
    .split(/\s+/)
    .filter((word) => word !== '' && !isChip(word))
    .join(' ');
}
