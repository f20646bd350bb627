/**
 * Runs `step` every `everyMs` milliseconds, but not while the step before still runs. A step that rejects is reported to `onError`
 * and the repetition goes on. Disposing ends it, and waits for a running step.
 */
export function repeat(
  everyMs: number,
  step: () => Promise<void>,
  onError: (error: unknown) => void,
): AsyncDisposable {
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= step()
      .catch(onError)
      .finally(() => {
        running = undefined;
      });
  }, everyMs);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await running;
    },
  };
}
