import { setTimeout as delay } from 'node:timers/promises';
import { groupRuns } from './process-group.ts';
import { isAnother, isRunning, type ProcessIdentity } from './process-start.ts';

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
