import { afterEach, vi } from 'vitest';

/** The longest wait of a test for an event, in milliseconds. It is only a guard: no machine may be so slow that a right test meets it. */
const guardMs = 30_000;

const { waitFor } = vi;
/** Waits as `vi.waitFor` does, which by itself gives up after a second. */
const patientWaitFor: typeof vi.waitFor = (check, options) =>
  waitFor(check, { timeout: guardMs, ...(typeof options === 'number' ? { timeout: options } : options) });
// One process runs many files, and this one before each of them.
if (waitFor.name !== patientWaitFor.name) vi.waitFor = patientWaitFor;

// Or HOME of one file would be that of all files which run after it in this process.
afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});
