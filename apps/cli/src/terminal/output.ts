import { visible, visibleLine } from '@signalbox/protocol';

/** Prints one line of JSON on standard output. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/**
 * Prints lines for people on standard output. Each text is one line, whatever it holds: line ends and characters that nobody sees
 * are written as escapes. A text of several lines is split by the caller, with {@link linesOf} or `quotedLines`. Very many lines are
 * passed as a list, because a call takes only so many arguments.
 */
export function printLines(...lines: (string | readonly string[])[]): void {
  process.stdout.write(`${lines.flat().map(visibleLine).join('\n')}\n`);
}

/** Prints lines for people on standard error, as {@link printLines} does on standard output. */
export function printNotes(...lines: string[]): void {
  process.stderr.write(`${lines.map(visibleLine).join('\n')}\n`);
}

/** Splits a text into its lines. */
export function linesOf(text: string): string[] {
  return text.split(/\r?\n/);
}

/** Resolves when everything printed so far is written. Never resolves if nobody reads it, as the process then ends. */
export function printed(): Promise<void> {
  return new Promise((resolve) => {
    process.stdout.write('', (error) => {
      if (!error) resolve();
    });
  });
}

/** Lays out rows under headings, with aligned columns and without trailing blanks. See {@link cell} for what a row shows. */
export function tableLines(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [headings, ...rows.map((row) => row.map(cell))];
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

/**
 * Writes a text as one cell of a row. It stays on its line, and no second blank follows a first, because two blanks divide columns: a
 * name can look neither like a row nor like further cells.
 */
export function cell(text: string): string {
  return visibleLine(text).replace(/(?<=\S\s)\s|(?! )\s/g, escapedBlank);
}

function escapedBlank(blank: string): string {
  return `\\u${blank.charCodeAt(0).toString(16).padStart(4, '0')}`;
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
