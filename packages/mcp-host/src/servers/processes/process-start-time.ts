import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Returns the start time of a process as a text that can only be compared. Together with the id, it distinguishes a process from a later
 * one with the same id. Returns `undefined` if there is no process with this id, or if it is a zombie.
 */
export function startOfProcess(pid: number): string | undefined {
  return process.platform === 'linux' ? startFromProc(pid) : startFromPs(pid);
}

/**
 * Reads the state and the start time (proc(5), fields 3 and 22). The time counts from the boot, so the boot's id is
 * added.
 */
function startFromProc(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program stands in parentheses, and may hold spaces and parentheses itself.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : `${boot} ${fields[19]}`;
  } catch {
    return undefined;
  }
}

function startFromPs(pid: number): string | undefined {
  try {
    const options = { encoding: 'utf8', env: { PATH: process.env.PATH, LC_ALL: 'C' } } as const;
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], options).trim();
    const [, state, start] = /^(\S+)\s+(.+)$/.exec(line) ?? [];
    return state?.startsWith('Z') ? undefined : start;
  } catch {
    return undefined;
  }
}
