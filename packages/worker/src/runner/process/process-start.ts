import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Identifies a process by id and start time, since the system gives the same id to later processes. */
export interface ProcessIdentity {
  pid: number;
  /** The start time in the system's own form, for comparison only; absent if the system does not tell. */
  start?: string;
}

/** Returns the identity of a running process. */
export function identityOf(pid: number): ProcessIdentity {
  const start = startOf(pid);
  return { pid, ...(start !== undefined && { start }) };
}

/** Returns true if this very process runs and is not a zombie. */
export function isRunning({ pid, start }: ProcessIdentity): boolean {
  const now = startOf(pid);
  return now !== undefined && (start === undefined || now === start);
}

/** Returns true if another process has this id now. */
export function isAnother({ pid, start }: ProcessIdentity): boolean {
  const now = startOf(pid);
  return now !== undefined && start !== undefined && now !== start;
}

function startOf(pid: number): string | undefined {
  return process.platform === 'linux' ? statOf(pid)?.start : startInPs(pid);
}

/**
 * Reads the start time and the group of a process from proc(5). Fields are counted from behind the program's name, which may hold any
 * character and stands in parentheses. Returns `undefined` if there is no process with this id, or it is a zombie.
 */
export function statOf(pid: number): { start: string; group: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return 'ZX'.includes(fields[0] ?? 'X')
      ? undefined
      : { start: fields[19] ?? '', group: Number(fields[2]) };
  } catch {
    return undefined;
  }
}

function startInPs(pid: number): string | undefined {
  try {
    const options = { encoding: 'utf8', env: { PATH: process.env.PATH, LC_ALL: 'C' } } as const;
    const found = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], options).trim();
    const space = found.indexOf(' ');
    return space < 0 || found.startsWith('Z') ? undefined : found.slice(space + 1).trim();
  } catch {
    return undefined;
  }
}
