/** The time that a process has to stop in order. It is longer than the drain of an orchestrator and of the calls that it ends. */
export const stopTimeoutMs = 12_000;

/**
 * Gives this process a time to end by itself. If it is still there afterwards, it exits with its exit code, or with 1 if it has none
 * but 0; if it waits for a file, it is killed. It may be held up by a step that never ends, or by a handle that nobody closed.
 */
export function startExitDeadline(timeoutMs: number = stopTimeoutMs): void {
  setTimeout(() => {
    process.stderr.write(
      `signalbox: this process did not end within ${timeoutMs / 1000} s; it is ended now\n`,
    );
    exitNow();
  }, timeoutMs).unref();
}

/** Ends this process at once, with its exit code, or with 1 if it has none but 0. */
export function exitNow(): never {
  // An exit would wait for the disk, which may be what holds this process.
  if (isFileBusy()) process.kill(process.pid, 'SIGKILL');
  process.exit(Number(process.exitCode) || 1);
}

function isFileBusy(): boolean {
  return process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));
}
