import { writeFileSync } from 'node:fs';

/** The wall clock of a process that a test steps. */
export interface SteppedClock {
  /** The environment of the process. */
  readonly env: Record<string, string>;
  /** Sets the clock this many milliseconds ahead of the real time; a negative number sets it behind. */
  set(offsetMs: number): void;
}

/** Makes a clock that is kept in `file`. */
export function steppedClock(file: string): SteppedClock {
  const set = (offsetMs: number): void => writeFileSync(file, String(offsetMs));
  set(0);
  const preload = new URL('./stepped-date.ts', import.meta.url).href;
  return { env: { NODE_OPTIONS: `--import ${preload}`, SIGNALBOX_TEST_CLOCK: file }, set };
}
