/** The fewest characters to which a column is cut. */
const minWidth = 12;
/** The blanks between two columns. */
export const columnGap = 2;

/** A column of a table: how wide its widest cell is, and whether it may be cut. */
export interface Column {
  width: number;
  isWhole: boolean;
}

/**
 * Returns the widths that make the columns fit into a terminal: all that may be cut are cut to the same width, so that the widest lose
 * most. If the columns that stay whole leave too little room, the table is wider than the terminal.
 */
export function columnWidths(columns: readonly Column[], terminalWidth: number): number[] {
  const room = terminalWidth - columnGap * Math.max(0, columns.length - 1);
  let longest = Math.max(minWidth, ...columns.map(({ width, isWhole }) => (isWhole ? 0 : width)));
  const widths = (): number[] =>
    columns.map(({ width, isWhole }) => (isWhole ? width : Math.min(width, longest)));
  while (longest > minWidth && sum(widths()) > room) longest--;
  return widths();
}

/**
 * Returns the widths of as many columns as fit into the terminal, cut as {@link columnWidths} does. Of the last columns, at most
 * `optional` are left out.
 */
export function fittingWidths(columns: readonly Column[], terminalWidth: number, optional: number): number[] {
  const widths = columnWidths(columns, terminalWidth);
  const isTooWide = sum(widths) + columnGap * Math.max(0, columns.length - 1) > terminalWidth;
  return isTooWide && optional > 0
    ? fittingWidths(columns.slice(0, -1), terminalWidth, optional - 1)
    : widths;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
