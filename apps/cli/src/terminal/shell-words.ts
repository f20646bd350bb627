/** A command as one types it: words that a shell would take apart are quoted. */
export function shellWords(...words: readonly string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`))
    .join(' ');
}
