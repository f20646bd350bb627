import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
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
  /** Tells whether a row is highlighted. */
  isMarked?: (row: Row) => boolean;
  /** The text in place of rows, if there are none. */
  empty: ComponentChildren;
}

const rowHeight = 38;

/**
 * A table that shows only the rows in sight, so that ten thousand are as quick as ten. It scrolls, and the page does not. Arrow keys go
 * from row to row, and Enter shows the details of one.
 */
export function Table<Row>({ label, columns, rows, keyOf, selected, onSelect, isMarked, empty }: Props<Row>) {
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
  const { first, end } = windowOf(rows.length, { rowHeight, ...place });
  const current = Math.min(active, rows.length - 1);
  const move = (to: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, to));
    setActive(next);
    const element = box.current;
    if (!element) return;
    // The header takes the height of one row.
    const top = next * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    if (top + 2 * rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = top + 2 * rowHeight - element.clientHeight;
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
      End: rows.length - 1,
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
      class="table"
      ref={box}
      role="region"
      aria-label={label}
      tabIndex={onSelect ? -1 : 0}
      onScroll={({ currentTarget: { scrollTop, clientHeight: height } }) => {
        const next = windowOf(rows.length, { rowHeight, scrollTop, height });
        if (next.first !== first || next.end !== end) setPlace({ scrollTop, height });
      }}
    >
      <table aria-rowcount={rows.length + 1}>
        <thead>
          <tr>
            {columns.map(({ title, width, isNumber, isOptional }) => (
              <th
                key={title}
                scope="col"
                class={classOf(isNumber, isOptional)}
                style={width === undefined ? {} : { width }}
              >
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Gap rows={first} columns={columns.length} />
          {rows.slice(first, end).map((row, offset) => {
            const index = first + offset;
            const key = keyOf(row);
            return (
              <tr
                key={key}
                aria-rowindex={index + 2}
                class={[selected === key ? 'selected' : '', isMarked?.(row) ? 'marked' : ''].join(' ').trim()}
                {...(onSelect && {
                  tabIndex: index === current ? 0 : -1,
                  'aria-selected': selected === key,
                  onFocus: () => setActive(index),
                  onKeyDown: (event: KeyboardEvent) => onKeyDown(event, index, row),
                  onClick: () => onSelect(row),
                })}
              >
                {columns.map(({ title, isNumber, isOptional, cell }) => (
                  <td key={title} class={classOf(isNumber, isOptional)}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
          <Gap rows={rows.length - end} columns={columns.length} />
        </tbody>
      </table>
    </div>
  );
}

function classOf(isNumber = false, isOptional = false): string {
  return [isNumber ? 'number' : '', isOptional ? 'optional' : ''].join(' ').trim();
}

/** Takes the space of rows that are not in sight. */
function Gap({ rows, columns }: { rows: number; columns: number }) {
  if (rows <= 0) return null;
  return (
    <tr class="gap">
      <td colSpan={columns} style={{ height: `${rows * rowHeight}px` }} />
    </tr>
  );
}
