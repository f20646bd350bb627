import { readdir, readFile } from 'node:fs/promises';

/** The most processes that are counted for one server. */
const maxProcesses = 50;

/**
 * Returns the bytes of memory of processes and their descendants, with shared pages counted for each of them; `undefined` if the system
 * does not tell. Never rejects. Linux only.
 */
export async function memoryOf(pids: readonly number[]): Promise<number | undefined> {
  if (pids.length === 0) return undefined;
  const found = new Set(pids);
  let bytes: number | undefined;
  for (const pid of found) {
    const own = await residentBytes(pid).catch(() => undefined);
    if (own === undefined) continue;
    bytes = (bytes ?? 0) + own;
    for (const child of await childrenOf(pid)) if (found.size < maxProcesses) found.add(child);
  }
  return bytes;
}

async function residentBytes(pid: number): Promise<number | undefined> {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

/** Each thread lists the processes that it started. */
async function childrenOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = threads.map((thread) =>
    readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => ''),
  );
  return (await Promise.all(lists)).flatMap((text) => text.split(' ').filter(Boolean).map(Number));
}
