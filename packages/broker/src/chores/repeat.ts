/**
 * Runs `step` every `everyMs` milliseconds, but not while the previous step still runs. A step that rejects is reported to `onError`, and
 * the repetition continues. Disposing ends it, and waits for a running step.
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
