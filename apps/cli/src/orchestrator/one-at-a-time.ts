/**
 * Makes `work` run once at a time: asked for while it runs, it runs once more afterwards, for all who asked meanwhile.
 * `work` must not reject.
 */
export function oneAtATime(work: () => Promise<void>): () => Promise<void> {
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
