/** Returns the value below which so large a part of the figures lies; NaN without figures. */
export function quantile(figures: readonly number[], part: number): number {
  const sorted = figures.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** Returns by how much a figure grows in a unit of time: the slope of the line that fits best. NaN without figures of two times. */
export function slope(points: readonly { at: number; value: number }[]): number {
  const mean = (of: (point: { at: number; value: number }) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [at, value] = [mean((point) => point.at), mean((point) => point.value)];
  const spread = mean((point) => (point.at - at) ** 2);
  return spread === 0 ? Number.NaN : mean((point) => (point.at - at) * (point.value - value)) / spread;
}

/** Returns the most times that lie within one window. Times and `windowMs` in milliseconds. */
export function mostWithin(times: readonly number[], windowMs: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  let first = 0;
  let most = 0;
  for (const [index, time] of sorted.entries()) {
    while (sorted[first]! <= time - windowMs) first++;
    most = Math.max(most, index - first + 1);
  }
  return most;
}
