import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { markVariable } from '../../environment/inherited-variables.ts';
import { isNotBefore, isRunning, type ProcessIdentity } from './process-start-time.ts';
import { hasEnded, type ProcessStat, parseStat } from './process-stat.ts';

/** A running process of our user whose environment holds a mark. */
export interface MarkedProcess extends ProcessIdentity {
  /** The name of its program. */
  name: string;
  mark: string;
  /** True if it runs on a terminal, where a person may use it. */
  hasTerminal: boolean;
  /** True if a process with another mark descends from it: it is, or runs, a host that a server started. */
  isOfOtherHost: boolean;
}

/** The processes that are looked at in one turn of the event loop. */
const atOnce = 100;

/**
 * Lists the processes of our user that have a mark and did not start before another process, whose start is given. Never rejects: it is
 * empty where the system does not tell.
 */
export async function markedProcesses(since: string): Promise<MarkedProcess[]> {
  if (process.platform !== 'linux') return [];
  try {
    const stats = await statsSince(since);
    const marks = new Map<number, string>();
    for (const pid of stats.keys()) {
      const mark = await markOf(pid);
      if (mark !== undefined) marks.set(pid, mark);
    }
    return [...marks].map(([pid, mark]) => {
      const { name, terminal, start } = stats.get(pid)!;
      const isOfOtherHost = [...marks].some(
        ([other, otherMark]) => otherMark !== mark && descends(other, pid, stats),
      );
      return { pid, start, name, mark, hasTerminal: terminal !== 0, isOfOtherHost };
    });
  } catch {
    return [];
  }
}

type StartedProcess = ProcessStat & { start: string };

/**
 * Returns what runs and did not start before another process. All descendants of such a process are returned, too. A `stat` is read at
 * once, which costs a tenth of a promise; an `environ` may have to wait for its process, so that is read beside the event loop.
 */
async function statsSince(since: string): Promise<Map<number, StartedProcess>> {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const stats = new Map<number, StartedProcess>();
  for (const [at, pid] of pids.entries()) {
    if (at % atOnce === atOnce - 1) await nextTurn();
    const stat = statOf(pid);
    if (!stat || hasEnded(stat)) continue;
    const start = `${boot} ${stat.startTicks}`;
    if (isNotBefore(start, since)) stats.set(Number(pid), { ...stat, start });
  }
  return stats;
}

function statOf(pid: string): ProcessStat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // It has ended.
    return undefined;
  }
}

/** Returns true if the process runs, belongs to our user and has its mark. */
export function isStillMarked(one: MarkedProcess): boolean {
  try {
    const environment = readFileSync(`/proc/${one.pid}/environ`, 'utf8');
    const status = readFileSync(`/proc/${one.pid}/status`, 'utf8');
    return markIn(environment) === one.mark && isOurs(status) && isRunning(one);
  } catch {
    return false;
  }
}

async function markOf(pid: number): Promise<string | undefined> {
  try {
    const mark = markIn(await readFile(`/proc/${pid}/environ`, 'utf8'));
    if (mark === undefined) return undefined;
    return isOurs(await readFile(`/proc/${pid}/status`, 'utf8')) ? mark : undefined;
  } catch {
    // It has ended, or belongs to another user.
    return undefined;
  }
}

function markIn(environment: string): string | undefined {
  const start = `${markVariable}=`;
  return environment
    .split('\0')
    .find((entry) => entry.startsWith(start))
    ?.slice(start.length);
}

/** Returns true if all four user ids of a process are ours: real, effective, saved and that for files. */
function isOurs(status: string): boolean {
  const ids = /^Uid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/) ?? [];
  return ids.length === 4 && ids.every((id) => Number(id) === process.getuid?.());
}

/** Returns true if `ancestor` is the parent of a process, or the parent of its parent, and so on. */
function descends(pid: number, ancestor: number, stats: ReadonlyMap<number, ProcessStat>): boolean {
  for (let parent = stats.get(pid)?.parent; parent; parent = stats.get(parent)?.parent)
    if (parent === ancestor) return true;
  return false;
}
