import { readFile } from 'node:fs/promises';
import { describe, it } from 'vitest';
import type { Cost, Ladder } from '../growth/growth-report.ts';
import { asSvg } from './chart.ts';
import { asMarkdown } from './document.ts';
import { recorded } from './record.ts';

const read = (path: string): Promise<string> => readFile(new URL(path, import.meta.url), 'utf8');

describe('the page of benchmarks', () => {
  it('and its chart are what the record says', async ({ expect }) => {
    const benchmarks = await recorded();
    const losses = (await read('./where-we-lose.md')).trim();
    expect(await read('../../../docs/benchmarks.md')).toBe(asMarkdown(benchmarks, losses));
    expect(await read('../../../docs/benchmarks.svg')).toBe(asSvg(benchmarks));
  });

  it('shows the first size and the last one of what grows, and only the costs that people ask about', ({
    expect,
  }) => {
    const sizes = [10, 1000, 100_000].map((size) => ({ size, label: `${size}` }));
    const costs = ['head fetch: `subscribe` to the first message', '`peek` of one message'].map(
      (name): Cost => ({ name, unit: 'µs', values: [10, 25, 15], samples: [] }),
    );
    const circumstances = {
      date: '2026-01-01',
      machine: 'two cores',
      node: 'v24.0.0',
      rounds: 1,
      secondsPerRun: 1,
    };
    const ladders: Ladder[] = [{ name: 'pending', sizes, costs, notes: [] }];
    const growth = { ...circumstances, load: { before: 0, after: 0 }, ladders, skipped: [] };
    const page = asMarkdown({ growth }, '');
    expect(
      page.split('\n').filter((line) => line.includes('first message') || line.includes('peek')),
    ).toEqual([
      '| messages that wait in one inbox: 10 → 100000 | head fetch: `subscribe` to the first message | 10.0 µs | 15.0 µs | 1.50× |',
    ]);
  });
});
