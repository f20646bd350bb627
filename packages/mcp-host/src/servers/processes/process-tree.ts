import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { hasEnded, parseStat } from './process-stat.ts';

/** A running process. */
export interface RunningProcess {
  pid: number;
  /** The words of its command line; of a process without one its name in brackets, as ps shows it. */
  words: string[];
}

/** A process with its parent and the leader of its process group. */
export interface ListedProcess extends RunningProcess {
  parent: number;
  group: number;
}

/** The most processes that are listed. */
const maxProcesses = 20;

/**
 * Lists the processes of a group and their descendants, the leader first. Never rejects: it is empty where the system
 * does not say.
 */
export async function processesOf(leader: number): Promise<RunningProcess[]> {
  const all = await allProcesses();
  const members = new Set<number>([leader]);
  for (let before = 0; before < members.size; ) {
    before = members.size;
    for (const { pid, parent, group } of all) if (group === leader || members.has(parent)) members.add(pid);
  }
  return all
    .filter(({ pid }) => members.has(pid))
    .toSorted((a, b) => Number(b.pid === leader) - Number(a.pid === leader) || a.pid - b.pid)
    .slice(0, maxProcesses)
    .map(({ pid, words }) => ({ pid, words }));
}

/** Lists all processes. Never rejects: the list is empty where the system does not say. */
export async function allProcesses(): Promise<ListedProcess[]> {
  return await (process.platform === 'linux' ? listFromProc() : listFromPs()).catch(() => []);
}

async function listFromProc(): Promise<ListedProcess[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(pids.map((pid) => readFromProc(pid).catch(() => undefined)));
  return found.filter((one) => one !== undefined);
}

/** Resolves with `undefined` for a zombie. */
async function readFromProc(pid: number): Promise<ListedProcess | undefined> {
  const stat = parseStat(await readFile(`/proc/${pid}/stat`, 'utf8'));
  if (hasEnded(stat)) return undefined;
  const line = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replace(/\0+$/, '');
  const { name, parent, group } = stat;
  // It is empty for a moment while a process becomes another program.
  return { pid, parent, group, words: line === '' ? [`[${name}]`] : line.split('\0') };
}

async function listFromPs(): Promise<ListedProcess[]> {
  const options = { env: { PATH: process.env.PATH, LC_ALL: 'C' }, maxBuffer: 16 * 1024 * 1024 };
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,pgid=,stat=,args='], options);
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parent, group, state, words] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    if (words === undefined || state?.startsWith('Z')) return [];
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), words: words.split(' ') }];
  });
}
