import fc from 'fast-check';

/**
 * Returns the seed and the length of a run. `SIGNALBOX_MODEL_RUNS` and `SIGNALBOX_MODEL_SEED` replace the defaults.
 */
export function modelSettings(runs: number): { numRuns: number; seed: number } {
  const { SIGNALBOX_MODEL_RUNS, SIGNALBOX_MODEL_SEED } = process.env;
  return {
    numRuns: Number(SIGNALBOX_MODEL_RUNS ?? runs),
    seed: Number(SIGNALBOX_MODEL_SEED ?? 20_260_301),
  };
}

/** The shrunk counterexample with its seed as text; `undefined` if every run agreed with the model. */
export async function counterexample<T>(
  sequences: fc.Arbitrary<T>,
  run: (sequence: T) => Promise<void>,
  settings: fc.Parameters<[T]>,
): Promise<string | undefined> {
  const details = await fc.check(fc.asyncProperty(sequences, run), settings as fc.Parameters<[T]>);
  if (!details.failed) return undefined;
  return `${fc.defaultReportMessage(details as fc.RunDetails<unknown>)}\n${String(details.errorInstance)}`;
}
