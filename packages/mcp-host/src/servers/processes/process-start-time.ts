import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { hasEnded, parseStat } from './process-stat.ts';

const pollMs = 25;

/** A process; its start time distinguishes it from a later one with the same id. */
export interface ProcessIdentity {
  pid: number;
  start: string;
}

/**
 * Returns the start time of a process as a text that can only be compared. Together with the id, it distinguishes a process from a later
 * one with the same id. Returns `undefined` if there is no process with this id, or if it is a zombie.
 */
export function startOfProcess(pid: number): string | undefined {
  return process.platform === 'linux' ? startFromProc(pid, false) : startFromPs(pid);
}

/** Does what {@link startOfProcess} does for a child that was just started. On Linux it may be a zombie by now. */
export function startOfChild(pid: number): string | undefined {
  return process.platform === 'linux' ? startFromProc(pid, true) : startFromPs(pid);
}

/** Returns true if a process that started at `start` began in the same boot as another, and not before it. Linux only. */
export function isNotBefore(start: string, other: string): boolean {
  const [[boot, ticks], [otherBoot, otherTicks]] = [start.split(' '), other.split(' ')];
  return boot === otherBoot && Number(ticks) >= Number(otherTicks);
}

/** Returns true if the process runs. A zombie does not. */
export function isRunning({ pid, start }: ProcessIdentity): boolean {
  return startOfProcess(pid) === start;
}

/** Resolves with true when the process has ended, or with false after `ms` milliseconds. */
export async function endsWithin(one: ProcessIdentity, ms: number): Promise<boolean> {
  for (let waitedMs = 0; isRunning(one); waitedMs += pollMs) {
    if (waitedMs >= ms) return false;
    await delay(pollMs);
  }
  return true;
}

/** Reads the state and the start time. The time counts from the boot, so the boot's id is added. */
function startFromProc(pid: number, mayBeZombie: boolean): string | undefined {
  try {
    const stat = parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return hasEnded(stat) && !mayBeZombie ? undefined : `${boot} ${stat.startTicks}`;
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
