/**
 * Returns the values of an option on a command line, as `--option value` or `--option=value`; an option without a value has an empty one.
 * Words behind `--` are no options, unless that may be the value of the option before it.
 */
export function optionValues(words: readonly string[], option: string): string[] {
  return placesOf(words, option).map(({ value }) => value);
}

/** Returns a command line without an option and its values. */
export function withoutOption(words: readonly string[], option: string): string[] {
  const removed = new Set(placesOf(words, option).flatMap(({ at }) => at));
  return words.filter((_, at) => !removed.has(at));
}

function placesOf(words: readonly string[], option: string): { at: number[]; value: string }[] {
  const end = words.findIndex((word, at) => word === '--' && !mayTakeValue(words[at - 1]));
  const options = end === -1 ? words : words.slice(0, end);
  return options.flatMap((word, at) => {
    if (word === option) return [{ at: [at, at + 1], value: options[at + 1] ?? '' }];
    return word.startsWith(`${option}=`) ? [{ at: [at], value: word.slice(option.length + 1) }] : [];
  });
}

/** Returns true for an option whose value may be the next word, also one that begins with a dash. The known ones have none. */
function mayTakeValue(word = ''): boolean {
  return word.startsWith('-') && !word.includes('=') && !['-p', '--print'].includes(word);
}
