import { useRef } from 'preact/hooks';

/** Counters that only grow, read at a time in milliseconds. */
export interface Reading {
  at: number;
  counts: Readonly<Record<string, number>>;
}

/** The time over which rates are computed, in milliseconds. */
const windowMs = 60_000;

/**
 * Returns the growth of each counter per second over the last minute; `undefined` before there are two readings, or if a counter began anew
 * because its process was restarted.
 */
export function ratesOf(readings: readonly Reading[]): Readonly<Record<string, number>> | undefined {
  const last = readings.at(-1);
  const first = readings.find(({ at }) => last !== undefined && last.at - at <= windowMs);
  if (!last || !first || first === last) return undefined;
  const rates: Record<string, number> = {};
  for (const [name, count] of Object.entries(last.counts)) {
    const grown = count - (first.counts[name] ?? 0);
    if (grown < 0) return undefined;
    rates[name] = (1000 * grown) / (last.at - first.at);
  }
  return rates;
}

/** Keeps the readings of the last minute, and returns the rates that they show. */
export function useRates(reading: Reading | undefined): Readonly<Record<string, number>> | undefined {
  const readings = useRef<Reading[]>([]);
  const last = readings.current.at(-1);
  if (reading && reading.at !== last?.at)
    readings.current = [...readings.current, reading].filter(({ at }) => reading.at - at <= windowMs);
  return ratesOf(readings.current);
}
