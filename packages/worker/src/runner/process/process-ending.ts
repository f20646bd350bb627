import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { isAnother, isRunning, type ProcessIdentity, statOf } from './process-start.ts';

/** A process that the supervisor may end. `group`: it leads a process group, which ends with it. */
export interface OwnProcess extends ProcessIdentity {
  group: boolean;
}

/** Without /proc each check starts a process, so checks are rarer there. */
const pollMs = process.platform === 'linux' ? 20 : 200;
const afterKillMs = 2000;

/**
 * Sends a signal to the process or its group. Returns false if nothing is left of it. Another process that has its id now gets no signal.
 */
export function signalProcess(own: OwnProcess, signal: NodeJS.Signals): boolean {
  if (own.group ? isAnother(own) : !isRunning(own)) return false;
  try {
    return process.kill(own.group ? -own.pid : own.pid, signal);
  } catch {
    return false;
  }
}

/** Sends TERM, and KILL to the rest after the grace. Resolves when nothing is left, or the rest can't be ended. */
export async function endProcess(own: OwnProcess, graceMs: number): Promise<void> {
  signalProcess(own, 'SIGTERM');
  if (await gone(own, graceMs)) return;
  signalProcess(own, 'SIGKILL');
  await gone(own, afterKillMs);
}

async function gone(own: OwnProcess, waitMs: number): Promise<boolean> {
  const until = performance.now() + waitMs;
  while (isLeft(own)) {
    if (performance.now() >= until) return false;
    await delay(pollMs);
  }
  return true;
}

/** Returns true if any part of it runs. While a group exists, no other process can get its id. */
function isLeft(own: OwnProcess): boolean {
  if (isRunning(own)) return true;
  return own.group && !isAnother(own) && groupRuns(own.pid);
}

/** Returns true if a process of this group runs. Zombies do not count on systems that show them. */
function groupRuns(group: number): boolean {
  try {
    process.kill(-group, 0);
  } catch {
    return false;
  }
  return process.platform !== 'linux' || readdirSync('/proc').some((name) => isMember(name, group));
}

function isMember(name: string, group: number): boolean {
  if (!/^\d+$/.test(name)) return false;
  const stat = statOf(Number(name));
  return stat?.group === group;
}
