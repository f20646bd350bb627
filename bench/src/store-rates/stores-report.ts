import type { Measurement } from '../measure.ts';

/** One run, with the processor time that an operation took in the process of the store, and in PostgreSQL. */
export interface StoreRun extends Measurement {
  clientMicros: number;
  serverMicros: number;
}

export interface StoresReport {
  postgres: string;
  rows: {
    workload: string;
    title: string;
    runs: StoreRun[];
    /** Operations a second, as a part of what our store on PostgreSQL did in the same round; the median of the rounds. */
    ratio: number;
  }[];
}
