import { readdirSync } from 'node:fs';
import { statOf } from './process-start.ts';

/** A process of this group runs. Those that are dead and wait for a parent to ask don't count where that can be seen. */
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
