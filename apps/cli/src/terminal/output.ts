import { visible } from '@signalbox/protocol';

export { visible };

/** One line of JSON on standard output. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** Lines for people on standard output. What others wrote into them cannot steer the terminal: see {@link visible}. */
export function printLines(...lines: string[]): void {
  process.stdout.write(`${visible(lines.join('\n'))}\n`);
}

/** Resolves when all that was printed has left. Never, if nobody reads it: then the process is on its way out. */
export function printed(): Promise<void> {
  return new Promise((resolve) => {
    process.stdout.write('', (error) => {
      if (!error) resolve();
    });
  });
}

/** Rows under headings, columns aligned, without trailing blanks. */
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

/** The beginning of a text on one line, at most `length` characters. */
export function oneLine(text: string, length: number): string {
  const flat = visible(text.replace(/\s+/g, ' ').trim());
  return flat.length <= length ? flat : `${flat.slice(0, length - 1)}…`;
}

/** `1 tool`, `2 tools`. */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}
