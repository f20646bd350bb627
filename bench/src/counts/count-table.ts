import { readFile, writeFile } from 'node:fs/promises';
import { table } from '../report/table.ts';
import { type CountName, type Counts, countNames } from './counts.ts';

/** The counts of each operation, by the process that did it. */
export type CountTable = Record<string, Record<string, Counts>>;

const names = Object.keys(countNames) as CountName[];
const recordFile = new URL('../../counts.json', import.meta.url);

export async function recordedCounts(): Promise<CountTable> {
  return JSON.parse(await readFile(recordFile, 'utf8')) as CountTable;
}

export async function recordCounts(counts: CountTable): Promise<void> {
  await writeFile(recordFile, `${JSON.stringify(counts, null, 2)}\n`);
}

/** Returns the least of each count of these processes, without processes that had nothing to do. */
export function leastOf(
  found: readonly Record<string, Counts>[],
  processes: readonly string[],
): Record<string, Counts> {
  const least = processes.map((process) => {
    const counts = names.map((name) => [name, Math.min(...found.map((one) => one[process]![name]))]);
    return [process, Object.fromEntries(counts) as Counts] as const;
  });
  return Object.fromEntries(least.filter(([, counts]) => names.some((name) => counts[name] > 0)));
}

/** Returns a line for each count that is above the record, and for each that is below it. */
export function differences(found: CountTable, recorded: CountTable): { above: string[]; below: string[] } {
  const above: string[] = [];
  const below: string[] = [];
  for (const operation of keysOf(found, recorded)) {
    for (const process of keysOf(found[operation], recorded[operation])) {
      for (const name of names) {
        const now = found[operation]?.[process]?.[name] ?? 0;
        const then = recorded[operation]?.[process]?.[name] ?? 0;
        if (now === then) continue;
        (now > then ? above : below).push(`${operation}, ${process}: ${name} ${now}, recorded ${then}`);
      }
    }
  }
  return { above, below };
}

/** Returns the counts as a table, with the sum of all processes of an operation if there are several. */
export function textOf(counts: CountTable): string {
  const rows = Object.entries(counts).flatMap(([operation, processes]) => {
    const all = Object.entries(processes);
    if (all.length > 1) all.push(['all', sumOf(Object.values(processes))]);
    return all.map(([process, one]) => [operation, process, ...names.map((name) => `${one[name]}`)]);
  });
  return table(['operation', 'process', ...names], rows, 2);
}

function sumOf(all: readonly Counts[]): Counts {
  return Object.fromEntries(
    names.map((name) => [name, all.reduce((sum, counts) => sum + counts[name], 0)]),
  ) as Counts;
}

function keysOf(one: object = {}, other: object = {}): Set<string> {
  return new Set([...Object.keys(one), ...Object.keys(other)]);
}
