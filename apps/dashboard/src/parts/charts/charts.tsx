import type { Chart, ChartSubject } from '@signalbox/client/operator';
import type { Missing } from '@signalbox/daemon/dashboard';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useResource } from '../../model/resource.ts';
import { route, setParams } from '../../model/route.ts';
import { clockTime, timeOf } from '../numbers.ts';
import { Tabs } from '../tabs.tsx';
import { Text } from '../text.tsx';
import { MissingNote } from '../view.tsx';
import type { DrawnChart } from './draw.ts';
import { written } from './written.ts';

/** The times that charts can show, in minutes. */
const times = { 10: '10 min', 60: '1 h', 360: '6 h', 1440: '24 h' } as const;

/** Returns the minutes that the address asks for. */
export function chosenMinutes(): number {
  const { minutes = '' } = route.value.params;
  return minutes in times ? Number(minutes) : 60;
}

/** Chooses how far back figures go. */
export function TimeTabs() {
  return (
    <Tabs
      label="How far back"
      parts={times}
      chosen={String(chosenMinutes())}
      onChoose={(minutes) => setParams({ minutes })}
    />
  );
}

/** Charts of a subject over the chosen time. The code that draws them is loaded when they are shown. Give it a key for each subject. */
export function Charts({ of: subject }: { of: ChartSubject }) {
  const minutes = chosenMinutes();
  // A read costs the broker some milliseconds, so that it is not repeated after each event.
  const { data, error } = useResource<{ charts: Chart[] | Missing }>(
    'charts',
    { ...subject, minutes },
    { follows: false },
  );
  const [drawing, setDrawing] = useState<Drawing>();
  useEffect(() => {
    import('./draw.ts').then(
      ({ draw }) => setDrawing({ draw }),
      (error: unknown) => setDrawing({ failure: String(error) }),
    );
  }, []);
  if (error !== undefined && !data) return <p class="stale">{error}</p>;
  if (!data || !drawing) return <p class="empty">Reading …</p>;
  if ('missing' in data.charts) return <MissingNote message={data.charts.missing.message} />;
  return (
    <div class="charts">
      {drawing.failure !== undefined && (
        <p class="stale">
          Charts can't be drawn in this browser; the tables have the same figures: {drawing.failure}
        </p>
      )}
      {data.charts.map((chart) => (
        <ChartFigure
          key={`${chart.title} ${minutes} ${chart.lines.map(({ name }) => name).join('\n')}`}
          chart={chart}
          draw={drawing.draw}
          heading={subject.of === 'tool' ? 'h3' : 'h2'}
        />
      ))}
    </div>
  );
}

/** Draws a chart; or says why it can't be done. */
type Drawing = { draw: typeof import('./draw.ts').draw; failure?: never } | { draw?: never; failure: string };

function ChartFigure({
  chart,
  draw,
  heading: Heading,
}: {
  chart: Chart;
  draw: Drawing['draw'];
  /** One of details stands below the heading of these. */
  heading: 'h2' | 'h3';
}) {
  const { title, at, lines, others } = chart;
  const box = useRef<HTMLDivElement>(null);
  const drawn = useRef<DrawnChart>();
  const [slot, setSlot] = useState<number>();
  const isEmpty = lines.every(({ values }) => values.every((value) => value === null));
  useEffect(() => {
    if (!draw || !box.current) return;
    const one = draw(box.current, chart, setSlot);
    drawn.current = one;
    return () => one[Symbol.dispose]();
  }, [isEmpty, draw]);
  useEffect(() => drawn.current?.update(chart), [chart]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const last = at.length - 1;
    const from = slot ?? last + 1;
    const steps: Record<string, number> = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: last };
    const next = steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    drawn.current?.point(Math.max(0, Math.min(last, next)));
  };
  return (
    <figure class="chart">
      <figcaption>
        <Heading>{title}</Heading>
        {!isEmpty && <Legend of={chart} slot={slot} />}
      </figcaption>
      {isEmpty ? (
        <p class="quiet">Nothing in this time.</p>
      ) : (
        <>
          {draw && (
            // biome-ignore lint/a11y/useSemanticElements: fieldset is for fields.
            <div
              class="plot"
              ref={box}
              role="group"
              // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys go from slot to slot.
              tabIndex={0}
              aria-label={`${title}: chart, arrow keys go through it`}
              onKeyDown={onKeyDown}
              onBlur={() => drawn.current?.point(undefined)}
            />
          )}
          {others > 0 && <p class="quiet">And {others} more, which are smaller.</p>}
          <ChartTable of={chart} isFirst={!draw} />
        </>
      )}
    </figure>
  );
}

/** Names the lines, with their values at a slot; without one, at the last slot that has any. */
function Legend({ of: { at, lines, unit }, slot }: { of: Chart; slot: number | undefined }) {
  const last = at.findLastIndex((_, index) => lines.some(({ values }) => values[index] !== null));
  const shown = slot ?? last;
  return (
    <div class="legend" aria-live={slot === undefined ? 'off' : 'polite'}>
      <span class="quiet">{clockTime(at[shown] ?? 0)}</span>
      <ul>
        {lines.map(({ name, values }, index) => (
          <li key={name}>
            <svg
              width="22"
              height="8"
              aria-hidden="true"
              class={`stroke-${(index % 8) + 1} dash-${index % 4}`}
            >
              <line x1="0" y1="4" x2="22" y2="4" />
            </svg>
            <Text>{name}</Text> <b>{written(values[shown], unit)}</b>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The same as a table, the newest slot first, for people who do not see the chart. */
function ChartTable({ of: { title, at, lines, unit }, isFirst }: { of: Chart; isFirst: boolean }) {
  const [isOpen, setOpen] = useState(isFirst);
  const slots = at.map((_, index) => index).reverse();
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Table</summary>
      {isOpen && (
        // biome-ignore lint/a11y/useSemanticElements: a region without a heading of its own.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and must be reached by keyboard.
        <div class="chart-table" role="region" aria-label={`${title}: table`} tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">Until</th>
                {lines.map(({ name }) => (
                  <th key={name} scope="col">
                    <Text>{name}</Text>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {slots.map((index) => (
                <tr key={index}>
                  <th scope="row">{timeOf(at[index]!)}</th>
                  {lines.map(({ name, values }) => (
                    <td key={name}>{written(values[index], unit)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}
