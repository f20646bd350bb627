import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A process, told from a later one that got the same id by when it started. */
export interface ProcessIdentity {
  pid: number;
  /** The system's words, only ever compared; absent where they could not be had. */
  start?: string;
}

export function identityOf(pid: number): ProcessIdentity {
  const start = startOf(pid);
  return { pid, ...(start !== undefined && { start }) };
}

/** The very process is there, and not only waiting for its parent to ask how it ended. */
export function isRunning({ pid, start }: ProcessIdentity): boolean {
  const now = startOf(pid);
  return now !== undefined && (start === undefined || now === start);
}

/** A process with this id is there, but another one. */
export function isAnother({ pid, start }: ProcessIdentity): boolean {
  const now = startOf(pid);
  return now !== undefined && start !== undefined && now !== start;
}

function startOf(pid: number): string | undefined {
  return process.platform === 'linux' ? statOf(pid)?.start : startInPs(pid);
}

/**
 * Start and group of a running process, from proc(5): counted after the program's name, which may hold anything but
 * stands in parentheses. `undefined` if there is none, or a dead one.
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
