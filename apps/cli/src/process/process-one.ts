/**
 * Warns if this process is process 1 of a container. The kernel makes process 1 the parent of every process whose own parent has ended, and
 * Node never reaps such a child.
 */
export function warnAsProcessOne(warn: (text: string) => void, pid = process.pid): void {
  if (pid !== 1) return;
  warn(
    'this is process 1, and it does not reap what other programs leave behind: the container fills with zombies. ' +
      'Start signalbox under an init: tini -- signalbox up, or docker run --init',
  );
}
