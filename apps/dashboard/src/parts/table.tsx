import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { windowOf } from './window-of.ts';

/** A column of a table. `width` is a CSS length; the columns without one share the rest. */
export interface Column<Row> {
  title: string;
  width?: string;
  isNumber?: boolean;
  /** True if a narrow screen leaves the column out. */
  isOptional?: boolean;
  cell: (row: Row) => ComponentChildren;
}

interface Props<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string | number;
  /** The key of the row whose details are shown. */
  selected?: string | number | undefined;
  onSelect?: (row: Row) => void;
  /** Returns the heading under which a row stands, such as its day. Rows with the same one must follow each other. */
  headingOf?: (row: Row) => string;
  /** Tells whether a row is highlighted. */
  isMarked?: (row: Row) => boolean;
  /** The text in place of rows, if there are none. */
  empty: ComponentChildren;
}

/** The height of a row, of a line of a card, and of the space around these lines, in pixels. */
const heights = { row: 38, cardLine: 25, cardEdge: 19 };

/** On a screen this narrow, each row is a card with all of its columns. */
const narrow = matchMedia('(max-width: 600px)');

/** A line of a table between its rows. */
class Heading {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * A table that shows only the rows in sight, so that ten thousand are as quick as ten. It scrolls, and the page does not. Arrow keys go
 * from row to row, and Enter shows the details of one. On a narrow screen each row is a card.
 */
export function Table<Row>(props: Props<Row>) {
  const { label, columns, rows, keyOf, selected, onSelect, headingOf, isMarked, empty } = props;
  const isNarrow = useNarrow();
  const lines = useMemo(() => withHeadings(rows, headingOf), [rows]);
  const headHeight = isNarrow ? 0 : heights.row;
  const rowHeight = isNarrow ? heights.cardEdge + heights.cardLine * cardLines(columns) : heights.row;
  const box = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ scrollTop: 0, height: 800 });
  const [active, setActive] = useState(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = (): void => setPlace({ scrollTop: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  const { first, end } = windowOf(lines.length, { rowHeight, ...place });
  const current = rowAt(lines, Math.min(active, lines.length - 1), 1);
  const move = (to: number): void => {
    const wanted = Math.max(0, Math.min(lines.length - 1, to));
    const next = rowAt(lines, wanted, wanted < current && wanted > 0 ? -1 : 1);
    setActive(next);
    const element = box.current;
    if (!element) return;
    const top = next * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    if (top + rowHeight + headHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = top + rowHeight + headHeight - element.clientHeight;
    requestAnimationFrame(() => element.querySelector<HTMLElement>('tr[tabindex="0"]')?.focus());
  };
  const onKeyDown = (event: KeyboardEvent, index: number, row: Row): void => {
    if (event.target !== event.currentTarget) return;
    const steps: Record<string, number> = {
      ArrowDown: index + 1,
      ArrowUp: index - 1,
      PageDown: index + 10,
      PageUp: index - 10,
      Home: 0,
      End: lines.length - 1,
    };
    if (event.key in steps) move(steps[event.key]!);
    else if (event.key === 'Enter' || event.key === ' ') onSelect?.(row);
    else return;
    event.preventDefault();
  };
  if (rows.length === 0) return <div class="empty">{empty}</div>;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a region without a heading of its own.
    <div
      class={isNarrow ? 'table as-cards' : 'table'}
      ref={box}
      role="region"
      aria-label={label}
      tabIndex={onSelect ? -1 : 0}
      onScroll={({ currentTarget: { scrollTop, clientHeight: height } }) => {
        const next = windowOf(lines.length, { rowHeight, scrollTop, height });
        if (next.first !== first || next.end !== end) setPlace({ scrollTop, height });
      }}
    >
      <table aria-rowcount={lines.length + 1}>
        <thead>
          <tr>
            {columns.map(({ title, width, isNumber, isOptional }) => (
              <th
                key={title}
                scope="col"
                class={classOf({ isNumber, isOptional })}
                style={width === undefined ? {} : { width }}
              >
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Gap rows={first} rowHeight={rowHeight} />
          {lines.slice(first, end).map((line, offset) => {
            const index = first + offset;
            if (line instanceof Heading)
              return (
                <tr key={`heading ${line.text}`} aria-rowindex={index + 2} class="heading">
                  <th colSpan={columns.length} scope="rowgroup" style={{ height: `${rowHeight}px` }}>
                    {line.text}
                  </th>
                </tr>
              );
            const key = keyOf(line);
            return (
              <tr
                key={key}
                aria-rowindex={index + 2}
                class={[selected === key ? 'selected' : '', isMarked?.(line) ? 'marked' : '']
                  .join(' ')
                  .trim()}
                {...(isNarrow && { style: { height: `${rowHeight}px` } })}
                {...(onSelect && {
                  tabIndex: index === current ? 0 : -1,
                  'aria-selected': selected === key,
                  onFocus: () => setActive(index),
                  onKeyDown: (event: KeyboardEvent) => onKeyDown(event, index, line),
                  onClick: () => onSelect(line),
                })}
              >
                {columns.map(({ title, isNumber, isOptional, cell }, at) => (
                  <td key={title} class={classOf({ isNumber, isOptional, isWide: isWide(columns[at]!) })}>
                    {isNarrow && at > 0 && <span class="label">{title}</span>}
                    {cell(line)}
                  </td>
                ))}
              </tr>
            );
          })}
          <Gap rows={lines.length - end} rowHeight={rowHeight} />
        </tbody>
      </table>
    </div>
  );
}

/** Tells whether the screen is so narrow that rows are cards. */
function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(narrow.matches);
  useEffect(() => {
    const set = (): void => setNarrow(narrow.matches);
    narrow.addEventListener('change', set);
    return () => narrow.removeEventListener('change', set);
  }, []);
  return isNarrow;
}

/** Puts a heading before the rows that stand under it. */
function withHeadings<Row>(
  rows: readonly Row[],
  headingOf: ((row: Row) => string) | undefined,
): readonly (Row | Heading)[] {
  if (!headingOf) return rows;
  let last: string | undefined;
  return rows.flatMap((row) => {
    const text = headingOf(row);
    const isNew = text !== last;
    last = text;
    return isNew ? [new Heading(text), row] : [row];
  });
}

/** Returns the place of a row: the given one, or the next one if a heading is there. */
function rowAt(lines: readonly unknown[], place: number, step: 1 | -1): number {
  return lines[place] instanceof Heading ? place + step : place;
}

/** A column without a width takes a line of a card for itself. Others take half of one. */
function isWide({ width }: { width?: string }): boolean {
  return width === undefined;
}

function cardLines(columns: readonly { width?: string }[]): number {
  const halves = columns.reduce(
    (filled, column) => (isWide(column) ? 2 * Math.ceil(filled / 2) + 2 : filled + 1),
    0,
  );
  return Math.ceil(halves / 2);
}

interface CellLook {
  isNumber?: boolean | undefined;
  isOptional?: boolean | undefined;
  isWide?: boolean;
}

function classOf({ isNumber = false, isOptional = false, isWide = false }: CellLook): string {
  return [isNumber ? 'number' : '', isOptional ? 'optional' : '', isWide ? 'wide' : ''].join(' ').trim();
}

/** Takes the space of rows that are not in sight. It spans no columns: some may be hidden, and would get room in the table. */
function Gap({ rows, rowHeight }: { rows: number; rowHeight: number }) {
  if (rows <= 0) return null;
  return (
    <tr class="gap">
      <td style={{ height: `${rows * rowHeight}px` }} />
    </tr>
  );
}
