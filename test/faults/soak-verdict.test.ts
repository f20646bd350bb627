import { expect, test } from 'vitest';
import { type DaySample, judgeMonth, judgeSoak, type SoakSample } from './soak-verdict.ts';

const sample = (changes: Partial<SoakSample> = {}): SoakSample => ({
  seconds: 0,
  done: 0,
  restarts: 0,
  processes: 6,
  rssMiB: 700,
  handles: 160,
  databaseMiB: 4,
  journalMiB: 1,
  ...changes,
});

/** Makes nine samples. `at` returns the values of the sample with this number. */
function notFlat(at: (n: number) => Partial<SoakSample>): string[] {
  const samples = Array.from({ length: 9 }, (_, n) => sample({ done: n * 1000, ...at(n) }));
  return judgeSoak(samples, 6)
    .filter(({ flat }) => !flat)
    .map(({ what }) => what);
}

test('A soak is flat while it warms up, wobbles or shrinks, and not when memory or handles keep growing.', () => {
  expect(notFlat((n) => ({ rssMiB: n < 3 ? 300 + 100 * n : 700 - n }))).toEqual([]);
  expect(notFlat((n) => ({ rssMiB: n === 7 ? 900 : 700 }))).toEqual([]);
  expect(notFlat((n) => ({ rssMiB: 700 + 30 * n }))).toEqual(['memory (MiB)']);
  expect(notFlat((n) => ({ handles: 100 + 10 * n }))).toEqual(['open handles']);
});

test('A process left over at the end, or files that grow faster than the kept metadata, are not flat either.', () => {
  expect(notFlat((n) => ({ processes: n === 8 ? 7 : 6 }))).toEqual(['processes at the end']);
  expect(notFlat((n) => ({ databaseMiB: 4 + n / 2, journalMiB: 1 + n / 4 }))).toEqual([]);
  expect(notFlat((n) => ({ databaseMiB: 4 + 2 * n }))).toEqual(['database (bytes per message)']);
  expect(notFlat((n) => ({ journalMiB: 4 + 2 * n }))).toEqual(['journal (bytes per message)']);
});

test('A month is flat when what is kept for some days has reached its level in the first third, and not when anything grows on.', () => {
  const first: DaySample = {
    ...{ day: 1, processes: 1, rssMiB: 170, handles: 60, heapMiB: 50 },
    ...{ tokens: 6, dead: 72, dataMiB: 8, auditMiB: 4, journalMiB: 4 },
  };
  const growing = (change: (day: number) => Partial<DaySample>): string[] =>
    judgeMonth(Array.from({ length: 31 }, (_, day) => ({ ...first, day, ...change(day) })))
      .filter(({ flat }) => !flat)
      .map(({ what }) => what);
  expect(growing((day) => ({ dead: Math.min(72, 24 * day), auditMiB: Math.min(4, day / 2) }))).toEqual([]);
  expect(growing((day) => ({ tokens: 6 + day }))).toEqual(['tokens']);
  expect(growing((day) => ({ auditMiB: day, journalMiB: day }))).toEqual([
    'audit log (MiB)',
    'journal (MiB)',
  ]);
});
