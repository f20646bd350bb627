import { readdirSync } from 'node:fs';
import { statOf } from './process-start.ts';

/** Returns true if a process of this group runs. Zombies do not count on systems that show them. */
export function groupRuns(group: number): boolean {
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
