import { readdirSync, readFileSync } from 'node:fs';

/** The facts that the operating system gives about some processes at one time. */
export interface ProcessFacts {
  processes: number;
  /** The resident memory of all processes together, in MiB. */
  rssMiB: number;
  /** The open handles of all processes together. */
  handles: number;
}

/** Reads the facts of `root`'s descendants and of all other processes with `mark` in their environment. Linux only. */
export function processFacts(root: number, mark: string): ProcessFacts {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcess(Number(name)));
  const ours = new Set([root]);
  for (let before = 0; before < ours.size; ) {
    before = ours.size;
    for (const { pid, parent } of all) if (ours.has(parent)) ours.add(pid);
  }
  ours.delete(root);
  for (const { pid, environment } of all) if (pid !== root && environment.includes(mark)) ours.add(pid);
  const found = all.filter(({ pid }) => ours.has(pid));
  return {
    processes: found.length,
    rssMiB: sum(found.map(({ rssKiB }) => rssKiB)) / 1024,
    handles: sum(found.map(({ handles }) => handles)),
  };
}

interface ProcessRow {
  pid: number;
  parent: number;
  rssKiB: number;
  handles: number;
  environment: string;
}

/** Returns nothing for a process that has ended meanwhile or belongs to another user. */
function readProcess(pid: number): ProcessRow[] {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const field = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
    if (/^State:\s+Z/m.test(status)) return [];
    return [
      {
        pid,
        parent: field('PPid'),
        rssKiB: field('VmRSS'),
        handles: readdirSync(`/proc/${pid}/fd`).length,
        environment: readFileSync(`/proc/${pid}/environ`, 'utf8'),
      },
    ];
  } catch {
    return [];
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, n) => total + n, 0);
}
