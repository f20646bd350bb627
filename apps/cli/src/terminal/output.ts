import { visible } from '@signalbox/protocol';

/** Prints one line of JSON on standard output. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** Prints lines for people on standard output. Control characters in them cannot steer the terminal: see {@link visible}. */
export function printLines(...lines: string[]): void {
  process.stdout.write(`${visible(lines.join('\n'))}\n`);
}

/** Resolves when everything printed so far is written. Never resolves if nobody reads it, as the process then ends. */
export function printed(): Promise<void> {
  return new Promise((resolve) => {
    process.stdout.write('', (error) => {
      if (!error) resolve();
    });
  });
}

/** Lays out rows under headings, with aligned columns and without trailing blanks. */
export function tableLines(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [headings, ...rows.map((row) => row.map((cell) => visible(cell)))];
  const widths = headings.map((_, column) =>
    all.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0),
  );
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** Writes the beginning of a text on one line of at most `length` characters. */
export function oneLine(text: string, length: number): string {
  const flat = visible(text.replace(/\s+/g, ' ').trim());
  return flat.length <= length ? flat : `${flat.slice(0, length - 1)}…`;
}

/** Writes a number with its noun, as in `1 tool` and `2 tools`. */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}
