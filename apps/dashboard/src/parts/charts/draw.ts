import type { Chart, ChartUnit } from '@signalbox/client/operator';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import '../../style/charts.css';
import { clockTime } from '../numbers.ts';
import { written } from './written.ts';

/** A chart on the page, until it is disposed. */
export interface DrawnChart extends Disposable {
  /** Shows newer values. */
  update: (chart: Chart) => void;
  /** Moves the cursor to a slot, or away. */
  point: (slot: number | undefined) => void;
}

const height = 170;

/**
 * Draws a chart into an element, in the colours of the page, also when they change. `onPoint` is told the slot under the pointer. The library
 * sets its styles by script, which the page's policy allows.
 */
export function draw(
  into: HTMLElement,
  chart: Chart,
  onPoint: (slot: number | undefined) => void,
): DrawnChart {
  const plot = new uPlot(optionsOf(into, chart, onPoint), dataOf(chart), into);
  const observer = new ResizeObserver(() => plot.setSize({ width: into.clientWidth, height }));
  observer.observe(into);
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  const recolour = (): void => plot.redraw();
  scheme.addEventListener('change', recolour);
  return {
    update: (next) => plot.setData(dataOf(next)),
    point: (slot) => {
      const at = slot === undefined ? undefined : plot.data[0][slot];
      plot.setCursor(
        at === undefined ? { left: -10, top: -10 } : { left: plot.valToPos(at, 'x'), top: 10 },
        true,
      );
    },
    [Symbol.dispose]: () => {
      scheme.removeEventListener('change', recolour);
      observer.disconnect();
      plot.destroy();
    },
  };
}

function dataOf({ at, lines }: Chart): uPlot.AlignedData {
  return [at.map((ms) => ms / 1000), ...lines.map(({ values }) => values)];
}

/** Dashes tell the lines apart without their colours, too. The legend has the same. */
const dashes = [[], [7, 4], [2, 3], [9, 3, 2, 3]];

function optionsOf(
  into: HTMLElement,
  { unit, lines }: Chart,
  onPoint: (slot: number | undefined) => void,
): uPlot.Options {
  const colour = (name: string): string => getComputedStyle(into).getPropertyValue(name).trim();
  const axis = {
    stroke: () => colour('--muted'),
    grid: { stroke: () => colour('--line'), width: 1 },
    ticks: { stroke: () => colour('--line'), width: 1, size: 4 },
    font: `11px ${getComputedStyle(into).fontFamily}`,
  };
  return {
    width: Math.max(1, into.clientWidth),
    height,
    legend: { show: false },
    padding: [10, 12, 0, 0],
    cursor: { drag: { x: false, y: false }, points: { size: 6 } },
    scales: { y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.08 : 1] } },
    axes: [
      { ...axis, size: 28, space: 64, values: (_plot, ticks) => timesOf(ticks) },
      {
        ...axis,
        size: 66,
        space: 34,
        ...(unit.startsWith('bytes') && { incrs: powersOfTwo }),
        values: (_plot, ticks) => ticks.map((value) => label(value, unit)),
      },
    ],
    series: [
      {},
      ...lines.map((_, at) => ({
        stroke: () => colour(`--chart-${(at % 8) + 1}`),
        width: 1.5,
        dash: dashes[at % dashes.length]!,
        points: { show: true, size: 4, filter: alone },
        spanGaps: false,
      })),
    ],
    hooks: { setCursor: [({ cursor: { idx } }) => onPoint(idx ?? undefined)] },
  };
}

/** The steps of an axis of bytes, as they are written in KiB and MiB. */
const powersOfTwo = Array.from({ length: 50 }, (_, power) => 2 ** power);

/** Finds the slots with a value between slots without one, which no line shows. */
function alone(plot: uPlot, series: number): number[] {
  const values = plot.data[series] ?? [];
  const isThere = (slot: number): boolean => values[slot] !== null && values[slot] !== undefined;
  return Array.from(values.keys()).filter(
    (slot) => isThere(slot) && !isThere(slot - 1) && !isThere(slot + 1),
  );
}

/** Writes the times of an axis: with seconds only where minutes alone would not tell them apart. */
function timesOf(ticks: readonly number[]): string[] {
  const isFine = ticks.some((tick) => tick % 60 !== 0);
  return ticks.map((tick) => clockTime(tick * 1000).slice(0, isFine ? 8 : 5));
}

function label(value: number, unit: ChartUnit): string {
  return value === 0 ? '0' : written(value, unit).replace(' a minute', '');
}
