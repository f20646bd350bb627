const parentCheckMs = 1000;

/**
 * Resolves when the process that started this one has ended: its other descendants may keep our standard input open. Does
 * not keep this process alive.
 */
export function parentEnded(): Promise<string> {
  const parent = process.ppid;
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      resolve('parent ended');
    }, parentCheckMs).unref();
  });
}
