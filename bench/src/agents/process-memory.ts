import { readFile } from 'node:fs/promises';

/** The memory of a process, in bytes. Memory that several processes share counts in `pssBytes` for each by its part. */
export interface ProcessMemory {
  rssBytes: number;
  pssBytes: number;
  /** The part of `pssBytes` that no file backs. */
  anonymousBytes: number;
}

/** Reads what the system says of a process. Only Linux tells. */
export async function memoryOf(pid: number): Promise<ProcessMemory> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const bytes = (field: string): number => {
    const kib = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1];
    if (kib === undefined) throw new Error(`/proc/${pid}/smaps_rollup says nothing of ${field}`);
    return Number(kib) * 1024;
  };
  return { rssBytes: bytes('Rss'), pssBytes: bytes('Pss'), anonymousBytes: bytes('Pss_Anon') };
}
