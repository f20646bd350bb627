const units = ['KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Writes a number of bytes in the largest unit that fits, as in `512 B`, `1.5 KiB` and `2.0 GiB`. */
export function byteSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  let [value, at] = [bytes / 1024, 0];
  for (; value >= 1024 && at < units.length - 1; at++) value /= 1024;
  return `${value.toFixed(1)} ${units[at]}`;
}
