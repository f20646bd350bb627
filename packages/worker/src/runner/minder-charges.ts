import type { OwnProcess } from './process-ending.ts';

/** What has to go when the supervisor dies: processes first, then what they used. */
export interface Charge {
  process?: OwnProcess;
  /** Run directories. */
  directories?: string[];
  /** Records of entries in the user's files: see `workspace-record.ts`. */
  records?: string[];
}

/** One line from the supervisor to its minder; the newest counts. */
export interface Charges {
  graceMs: number;
  charges: Charge[];
}
