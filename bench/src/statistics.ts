/** The value below which the part `q` (0 to 1) of the values lies; NaN if there are none. */
export function quantileOf(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

/** The middle value; NaN if there are none. */
export function median(values: readonly number[]): number {
  return quantileOf(values, 0.5);
}
