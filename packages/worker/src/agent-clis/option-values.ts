/**
 * Returns the values of an option on a command line, as `--option value` or `--option=value`; an option without a value has an empty one.
 * Words behind `--` are no options.
 */
export function optionValues(words: readonly string[], option: string): string[] {
  const end = words.indexOf('--');
  const options = end === -1 ? words : words.slice(0, end);
  return options.flatMap((word, at) => {
    if (word === option) return [options[at + 1] ?? ''];
    return word.startsWith(`${option}=`) ? [word.slice(option.length + 1)] : [];
  });
}
