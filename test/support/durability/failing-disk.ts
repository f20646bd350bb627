import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

/** The system calls that change files. Sockets and pipes are written with others. */
const changes = 'pwrite64,pwritev,pwritev2,fsync,fdatasync,ftruncate,unlink,unlinkat,rename';

/** True where `strace` may attach to a process that it did not start. */
export function canFailDisk(): boolean {
  return spawnSync('sh', ['-c', 'sleep 0.2 & exec strace -e trace=none -o /dev/null -p $!']).status === 0;
}

/**
 * Lets every change that a process makes to a file fail from now on, as on a disk that is broken (`EIO`) or turned read-only
 * (`EROFS`). The disk is good again when this is disposed, and for the process that follows it.
 */
export async function failDiskOf(pid: number, errno: 'EIO' | 'EROFS'): Promise<AsyncDisposable> {
  const inject = ['-e', `trace=${changes}`, '-e', `inject=${changes}:error=${errno}`];
  const tracer = spawn('strace', ['-f', ...inject, '-o', '/dev/null', '-p', String(pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(tracer, 'exit');
  await Promise.race([
    once(tracer.stderr, 'data'),
    exited.then(() => Promise.reject(new Error('strace did not attach'))),
  ]);
  return {
    async [Symbol.asyncDispose]() {
      // A tracer that is asked to detach waits for threads that may be dying; one that is killed leaves the process as it is.
      if (tracer.exitCode === null && tracer.signalCode === null) tracer.kill('SIGKILL');
      await exited;
    },
  };
}
