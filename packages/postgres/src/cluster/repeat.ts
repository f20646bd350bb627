/**
 * Runs a step again and again, each time `everyMs` after the previous run has ended. A step that fails is tried again the next time.
 * Disposing it waits for the running step.
 */
export function repeat(everyMs: number, step: () => Promise<void>): AsyncDisposable {
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();
  let isOver = false;
  const wait = (): void => {
    if (isOver) return;
    timer = setTimeout(() => {
      running = step().then(wait, wait);
    }, everyMs);
  };
  wait();
  return {
    async [Symbol.asyncDispose]() {
      isOver = true;
      clearTimeout(timer);
      await running;
    },
  };
}
