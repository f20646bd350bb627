import { formatDuration } from '@signalbox/protocol/duration';

/** Writes a duration as commands do, in the largest unit that keeps it readable: `12 ms`, `89 s`, `2 min`. */
export function duration(ms: number): string {
  return ms < 1000 ? `${Math.max(0, Math.round(ms))} ms` : formatDuration(ms);
}

/** Writes how long ago something was; `unknown` without a time. */
export function age(at: number | undefined, now: number): string {
  if (at === undefined) return 'unknown';
  return now - at < 1000 ? 'now' : duration(now - at);
}

/** Writes the time that is left: `4:05` below ten minutes, so that people see it run. */
export function timeLeft(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  if (seconds > 600) return duration(ms);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** Writes a number of bytes. */
export function bytes(count: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [size, at] = [count, 0];
  while (size >= 1024 && at < names.length - 1) [size, at] = [size / 1024, at + 1];
  return `${at === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${names[at]}`;
}

/** Writes a number; `unknown` if there is none. */
export function figure(count: number | null | undefined): string {
  return count === null || count === undefined ? 'unknown' : count.toLocaleString('en');
}

/** Writes a number and its noun: `1 call`, `2 calls`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

/** Writes a time of day with its date. */
export function timeOf(at: number): string {
  return new Date(at).toLocaleString('sv', { dateStyle: 'short', timeStyle: 'medium' });
}

/** Writes the day of a time: `2026-11-29`. */
export function dayOf(at: number): string {
  return timeOf(at).slice(0, 10);
}

/** Writes a time of day. */
export function clockTime(at: number): string {
  return new Date(at).toLocaleTimeString('sv');
}

/** Writes a rate, given per second. */
export function perSecond(rate: number): string {
  if (rate > 0 && rate < 0.1) return `${(60 * rate).toFixed(1)} a minute`;
  return `${rate >= 100 || rate === 0 ? Math.round(rate).toLocaleString('en') : rate.toFixed(1)} a second`;
}

/** Writes a short time with its significant digits: `0.4 ms`, `12 ms`, `1.3 s`. */
export function shortTime(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms >= 10 ? Math.round(ms) : ms.toFixed(1)} ms`;
}
