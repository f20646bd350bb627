import type { ChartUnit } from '@signalbox/client/operator';
import { bytes, duration, shortTime } from '../numbers.ts';

/** Writes a value of a chart; a dash where there is none. */
export function written(value: number | null | undefined, unit: ChartUnit): string {
  if (value === null || value === undefined) return '–';
  switch (unit) {
    case 'bytes':
      return bytes(value);
    case 'bytes a minute':
      return `${bytes(value)} a minute`;
    case 'seconds':
      return value >= 100 ? duration(value * 1000) : shortTime(value * 1000);
    case 'a minute':
      return `${number(value)} a minute`;
    case 'number':
      return number(value);
  }
}

function number(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 });
}
