/** A table in Markdown. The first `words` columns are text, and those named in `alsoWords`; the others are figures. */
export function table(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  words: number,
  alsoWords: readonly string[] = [],
): string {
  const rule = heads.map((head, i) => (i < words || alsoWords.includes(head) ? '---' : '---:'));
  return [heads, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
