/** Writes rows as columns: the first one is aligned to the left, all others to the right. */
export function asTable(rows: readonly (readonly (string | number)[])[]): string {
  const texts = rows.map((row) => row.map(String));
  const widths = texts[0]!.map((_, at) => Math.max(...texts.map((row) => row[at]!.length)));
  const line = (row: readonly string[]): string =>
    row.map((text, at) => (at === 0 ? text.padEnd(widths[at]!) : text.padStart(widths[at]!))).join('  ');
  const [head, ...body] = texts;
  return [line(head!), widths.map((width) => '-'.repeat(width)).join('  '), ...body.map(line)].join('\n');
}
