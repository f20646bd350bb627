import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runProgram } from '../external-program.ts';
import type { Benchmarks } from './benchmarks.ts';
import { asSvg } from './chart.ts';
import { asMarkdown } from './document.ts';

const docs = new URL('../../../docs/', import.meta.url);
const record = new URL('benchmarks.json', docs);
const losses = new URL('./where-we-lose.md', import.meta.url);
const biome = new URL('../../../node_modules/@biomejs/biome/bin/biome', import.meta.url);

/** `docs/benchmarks.json`; empty if there is none yet. */
export async function recorded(): Promise<Benchmarks> {
  try {
    return JSON.parse(await readFile(record, 'utf8')) as Benchmarks;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw thrown;
  }
}

/** Replaces sections of `docs/benchmarks.json`, adds changes to those that it holds, and writes the page and its chart from it. */
export async function keep(measured: Benchmarks): Promise<void> {
  const before = await recorded();
  const changes = [...(before.changes ?? []), ...(measured.changes ?? [])];
  const all = { ...before, ...measured, ...(changes.length > 0 && { changes }) };
  await writeFile(record, `${asJson(all)}\n`);
  await runProgram({
    command: process.execPath,
    args: [fileURLToPath(biome), 'format', '--write', fileURLToPath(record)],
  });
  await writePage(await recorded());
}

/** Writes the page and its chart. The figures are those of the record, whose digits are rounded. */
export async function writePage(benchmarks: Benchmarks): Promise<void> {
  await writeFile(new URL('benchmarks.svg', docs), asSvg(benchmarks));
  const whereWeLose = (await readFile(losses, 'utf8')).trim();
  await writeFile(new URL('benchmarks.md', docs), asMarkdown(benchmarks, whereWeLose));
}

/** Fractions with four digits, which say more than the noise allows. */
export function asJson(value: unknown): string {
  return JSON.stringify(value, (_, one) => (typeof one === 'number' ? rounded(one) : one), 2);
}

function rounded(figure: number): number {
  return Math.abs(figure) < 1000 ? Number(figure.toPrecision(4)) : Math.round(figure);
}
