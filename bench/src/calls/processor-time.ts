import { readdir, readFile } from 'node:fs/promises';

/** The processes that take part in a call, each under a name. A name may stand for several processes. */
export type NamedProcesses = readonly { name: string; pids: readonly number[] }[];

/**
 * Returns the time in microseconds that each process has spent on a processor so far, all its threads together. Empty on systems
 * other than Linux, which do not tell.
 */
export async function processorTimes(processes: NamedProcesses): Promise<Map<string, number>> {
  if (process.platform !== 'linux') return new Map();
  const times = await Promise.all(
    processes.map(async ({ name, pids }) => {
      const each = await Promise.all(pids.map(timeOf));
      return [name, each.reduce((sum, time) => sum + time, 0)] as const;
    }),
  );
  return new Map(times);
}

/** Returns the process ids of the children of a process. */
export async function childrenOf(pid: number): Promise<number[]> {
  if (process.platform !== 'linux') return [];
  return (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ').filter(Boolean).map(Number);
}

/** Returns the process ids of the children of a process, their children, and so on. */
export async function descendantsOf(pid: number): Promise<number[]> {
  const children = await childrenOf(pid);
  return [...children, ...(await Promise.all(children.map(descendantsOf))).flat()];
}

async function timeOf(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const nanoseconds = await Promise.all(
    threads.map(async (thread) => {
      // A thread may end meanwhile.
      const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0');
      return Number(text.split(' ')[0]);
    }),
  );
  return nanoseconds.reduce((sum, time) => sum + time, 0) / 1000;
}
