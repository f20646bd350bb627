/** Runs `work` once at a time. Calls during a run share one more run after it. `work` must not reject. */
export function coalesceRuns(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let again = false;
  const run = async (): Promise<void> => {
    do {
      again = false;
      await work();
    } while (again);
    running = undefined;
  };
  return () => {
    again = true;
    running ??= run();
    return running;
  };
}
