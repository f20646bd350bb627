import { visible, visibleLine } from '@signalbox/protocol/internal';
import { columnGap, fittingWidths } from './column-widths.ts';
import { cutText, textWidth } from './text-width.ts';

/** Prints one line of JSON on standard output. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** Writes the keys of our own facts in snake_case, as every `--json` has them. Callers pass nothing that others named, such as arguments. */
export function snakeKeys(facts: unknown): unknown {
  if (Array.isArray(facts)) return facts.map(snakeKeys);
  if (typeof facts !== 'object' || facts === null) return facts;
  return Object.fromEntries(
    Object.entries(facts).map(([key, value]) => [
      key.replace(/(?<=[a-z\d])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      snakeKeys(value),
    ]),
  );
}

/**
 * Prints lines for people on standard output. Each text becomes one line: line ends and characters that nobody sees
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

/** The headings of columns that are never cut, because people copy from them into other commands. */
const copied = new Set(['ID', 'SEQ', 'AGENT', 'INBOX', 'SERVER', 'TOOL', 'FILE', 'HASH OF THE LAST ROW']);

/** The headings of columns of times, which say nothing when they are cut. */
const times = new Set(['TIME', 'LAST', 'STARTED', 'AT', 'NEXT RUN', 'LAST RUN']);

/** Options that fit a table into a terminal. */
export interface TableOptions {
  /** The columns of the terminal; by default those of standard output. */
  terminalWidth?: number;
  /** The number of last columns that may be left out, one by one, while the table is wider than the terminal. */
  optionalColumns?: number;
}

/**
 * Lays out rows under headings, with aligned columns and without trailing blanks. On a terminal long texts are cut so that each row
 * stays on its line; a pipe or file gets them whole. See {@link cell} for what a row shows.
 */
export function tableLines(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  { terminalWidth = widthOf(process.stdout), optionalColumns = 0 }: TableOptions = {},
): string[] {
  const all = [headings, ...rows.map((row) => row.map(cell))];
  const natural = naturalWidths(all);
  const columns = natural.map((width, column) => {
    const heading = headings[column] ?? '';
    return { width, isWhole: copied.has(heading) || times.has(heading) };
  });
  const widths = fittingWidths(columns, terminalWidth, optionalColumns);
  const shown = all.map((row) => row.slice(0, widths.length));
  return laidOut(shown, widths);
}

/** Lays out facts, each a name and a value, with aligned values. They are never cut. */
export function factLines(facts: readonly (readonly [name: string, value: string])[]): string[] {
  const all = facts.map((row) => row.map(cell));
  return laidOut(all, naturalWidths(all));
}

/** Returns the columns of a terminal; no limit for a pipe or a file, and for a terminal that does not tell. */
function widthOf({ isTTY, columns }: NodeJS.WriteStream): number {
  return isTTY && columns > 0 ? columns : Number.POSITIVE_INFINITY;
}

function naturalWidths(rows: readonly (readonly string[])[]): number[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [column, text] of row.entries())
      widths[column] = Math.max(widths[column] ?? 0, textWidth(text));
  return widths;
}

function laidOut(rows: readonly (readonly string[])[], widths: readonly number[]): string[] {
  const gap = ' '.repeat(columnGap);
  return rows.map((row) =>
    row
      .map((text, column) => {
        const width = widths[column] ?? 0;
        const left = width - textWidth(text);
        if (left >= 0) return text + ' '.repeat(left);
        const shown = cutText(text, width);
        return shown + ' '.repeat(width - textWidth(shown));
      })
      .join(gap)
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

/** Writes the beginning of a text on one line that is at most `length` columns of a terminal wide. */
export function oneLine(text: string, length: number): string {
  const flat = visible(text.replace(/\s+/g, ' ').trim());
  return cutText(flat, length);
}

/**
 * Writes an instant of epoch milliseconds in UTC for a cell of a table: on a terminal without the day if that is today, and without
 * milliseconds.
 */
export function instant(at: number, now: number, isTerminal: boolean = process.stdout.isTTY): string {
  const whole = new Date(at).toISOString();
  if (!isTerminal) return whole;
  const isToday = whole.slice(0, 10) === new Date(now).toISOString().slice(0, 10);
  return `${whole.slice(isToday ? 11 : 0, 19)}Z`;
}

/** Writes a number with its noun, as in `1 tool` and `2 tools`. */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}
