export { formatDuration, formatElapsed } from '@signalbox/protocol/duration';

/** Writes the end of a wait of so many milliseconds from `now`, in epoch milliseconds: `until 14:03:20`. */
export function untilText(ms: number, now: number): string {
  const end = new Date(now + ms);
  const time = end.toTimeString().slice(0, 8);
  return ms < 86_400_000 / 2 ? `until ${time}` : `until ${end.toDateString()}, ${time}`;
}
