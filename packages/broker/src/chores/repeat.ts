/** Runs `step` every `everyMs`, never twice at once; disposing waits for a running step. */
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
