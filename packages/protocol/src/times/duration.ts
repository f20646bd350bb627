const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Reads `500ms`, `30s`, `15m`, `8h` or `7d` as milliseconds; returns `undefined` for anything else and for zero. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text);
  if (!match) return undefined;
  const value = Math.round(Number(match[1]) * unitMs[match[2] as keyof typeof unitMs]);
  return value > 0 && Number.isSafeInteger(value) ? value : undefined;
}

/** Writes how long something took: in milliseconds below a second, in tenths of a second below ten. */
export function formatElapsed(ms: number): string {
  const whole = Math.max(0, Math.round(ms));
  if (whole < 1000) return `${whole} ms`;
  return whole < 10_000 ? `${(Math.floor(whole / 100) / 10).toFixed(1)} s` : formatDuration(whole);
}

/** Writes a length of time in the largest unit that keeps it readable: `45 s`, `12 min`, `3 h`, `5 d`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** Writes the end of a wait of so many milliseconds from `now`, in epoch milliseconds: `until 14:03:20`. */
export function untilText(ms: number, now: number): string {
  const end = new Date(now + ms);
  const time = end.toTimeString().slice(0, 8);
  return ms < 86_400_000 / 2 ? `until ${time}` : `until ${end.toDateString()}, ${time}`;
}
