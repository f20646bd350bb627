/** The names of the counts of one process, and what each counts. */
export const countNames = {
  functions: 'functions entered',
  files: 'files of these functions',
  moves: 'functions entered of another file than the function entered before',
  commits: 'commits of SQLite',
  syncs: 'calls of fsync and fdatasync',
  writes: 'writes to sockets and pipes',
  bytes: 'bytes of these writes',
} as const;

export type CountName = keyof typeof countNames;

/** The work of one process for one operation. */
export type Counts = Record<CountName, number>;

/** The name of the global function that instrumented functions call when they are entered. */
export const enteredName = 'signalboxEntered';

/**
 * A question to a process. `begin`: count from zero, and stop your clock. `advanceMs`: let your clock go on by that much. `release`: let your
 * clock run again. `answer`: only answer.
 */
export type CountQuestion = 'begin' | { advanceMs: number } | 'release' | 'answer';

/** The answer, a few turns of the event loop later. */
export interface CountAnswer {
  counts: Counts;
  /** The time from now to its next timer that waits for the stopped clock, in milliseconds. Absent if there is none. */
  timerInMs?: number;
}
