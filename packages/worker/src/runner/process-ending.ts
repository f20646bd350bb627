import { setTimeout as delay } from 'node:timers/promises';
import { groupRuns } from './process-group.ts';
import { isAnother, isRunning, type ProcessIdentity } from './process-start.ts';

/** A process that is ours to end. `group`: it leads a group of its own, and all of it is. */
export interface OwnProcess extends ProcessIdentity {
  group: boolean;
}

/** Where there is no /proc, each look costs a process. */
const pollMs = process.platform === 'linux' ? 20 : 200;
const afterKillMs = 2000;

/** Sends a signal to what is left of it; false if nothing is. Another process that got its id is left alone. */
export function signalProcess(own: OwnProcess, signal: NodeJS.Signals): boolean {
  if (own.group ? isAnother(own) : !isRunning(own)) return false;
  try {
    return process.kill(own.group ? -own.pid : own.pid, signal);
  } catch {
    return false;
  }
}

/** TERM, then KILL for what is left after the grace. Resolves when nothing is, or can't be ended. */
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

/** While anything of a group runs, no other process can get its id. */
function isLeft(own: OwnProcess): boolean {
  if (isRunning(own)) return true;
  return own.group && !isAnother(own) && groupRuns(own.pid);
}
