import { spawnSync } from 'node:child_process';
import { startOfProcess } from '@signalbox/mcp-host/internal';

/** Returns true if the process runs. A zombie has ended, although its parent has not asked how. */
export function isRunning(pid: number): boolean {
  return startOfProcess(pid) !== undefined;
}

/** Lists all processes with their command lines, and their environment where the system shows it. */
export function everyProcess(): { pid: number; parent: number; text: string }[] {
  const { stdout } = spawnSync('ps', ['axeww', '-o', 'pid=,ppid=,args='], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout.split('\n').map((text) => {
    const [pid, parent] = text.trim().split(/\s+/, 2).map(Number);
    return { pid: pid ?? 0, parent: parent ?? 0, text };
  });
}
