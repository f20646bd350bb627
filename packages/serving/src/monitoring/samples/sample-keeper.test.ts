import { mkdtempDisposable, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Counter } from '../metrics/counter.ts';
import { LabelledHistogram } from '../metrics/histogram.ts';
import { gauge, type MetricFamily } from '../metrics/metric-family.ts';
import { SampleKeeper } from './sample-keeper.ts';
import { keptSamples, LineRing } from './sample-lines.ts';

const start = Date.UTC(2026, 0, 1);

/** The metrics of a process, and a clock that moves on when it is told to. */
function processAt(file: string | undefined, beginsAt = start) {
  const stored = new Counter({ name: 'stored_total', help: 'S.', labels: ['kind'] });
  const times = new LabelledHistogram(
    { name: 'time_seconds', help: 'T.', labels: ['server', 'tool'] },
    [1, 2, 4],
    3,
  );
  let waiting: [readonly string[], number][] = [[['worker'], 0]];
  let ages: [readonly string[], number][] = [];
  let ms = 0;
  const warned: string[] = [];
  const families = (): MetricFamily[] => [
    stored.collect(),
    times.collect(),
    gauge({ name: 'waiting', help: 'W.', labels: ['role'] }, waiting),
    gauge({ name: 'oldest_age_seconds', help: 'A.', labels: ['role'] }, ages),
  ];
  const deps = {
    file,
    collect: families,
    now: () => beginsAt + ms,
    monotonic: () => ms,
    warn: (event: string, message: string) => warned.push(`${event}: ${message}`),
  };
  return {
    stored,
    times,
    warned,
    stand: (next: typeof waiting, old: typeof ages = []) => {
      waiting = next;
      ages = old;
    },
    open: () => SampleKeeper.open(deps),
    pass: async (keeper: SampleKeeper, seconds: number) => {
      for (let second = 0; second < seconds; second++) {
        ms += 1000;
        await keeper.tick();
      }
    },
  };
}

it('tells for each slot what was added, where gauges stood at its end, and percentiles of the slot alone', async () => {
  const here = processAt(undefined);
  await using keeper = await here.open();
  here.stored.add('task', '', 3);
  for (const value of [0.5, 0.5, 3]) here.times.observe(['files', 'read'], value);
  here.stand(
    [
      [['worker'], 2],
      [['reviewer'], 5],
    ],
    [
      [['worker'], 7],
      [['reviewer'], 9],
    ],
  );
  await here.pass(keeper, 1);
  here.stored.add('task', '', 1);
  here.stored.add('note', '', 1);
  here.times.observe(['web', 'get'], 1.5);
  here.stand([[['worker'], 1]]);
  await here.pass(keeper, 1);
  const { covered_ms, series, slot_ms } = await keeper.read({
    last_ms: 3000,
    points: 3,
    of: [
      { metric: 'stored_total' },
      { metric: 'stored_total', by: ['kind'], where: { kind: 'note' } },
      { metric: 'waiting', by: ['role'] },
      { metric: 'waiting' },
      { metric: 'oldest_age_seconds' },
      { metric: 'time_seconds', by: ['server'] },
    ],
  });
  expect([slot_ms, covered_ms]).toEqual([1000, [0, 1000, 1000]]);
  expect(series).toEqual([
    { metric: 'stored_total', labels: {}, values: [null, 3, 2] },
    { metric: 'stored_total', labels: { kind: 'note' }, values: [null, 0, 1] },
    { metric: 'waiting', labels: { role: 'reviewer' }, values: [null, 5, null] },
    { metric: 'waiting', labels: { role: 'worker' }, values: [null, 2, 1] },
    { metric: 'waiting', labels: {}, values: [null, 7, 1] },
    { metric: 'oldest_age_seconds', labels: {}, values: [null, 9, null] },
    {
      metric: 'time_seconds',
      labels: { server: 'files' },
      counts: [null, 3, 0],
      sums: [null, 4, 0],
      p50: [null, 0.75, null],
      p95: [null, 3.7, null],
      p99: [null, 3.94, null],
    },
    expect.objectContaining({ labels: { server: 'web' }, counts: [null, 0, 1], p50: [null, null, 1.5] }),
  ]);
});

it('answers about a day from samples of a minute and the seconds since the last one, as one slot if wished', async () => {
  const here = processAt(undefined);
  await using keeper = await here.open();
  for (let minute = 0; minute < 3; minute++) {
    here.stored.add('task', '', 10);
    here.times.observe(['files', 'read'], minute + 0.5);
    await here.pass(keeper, 60);
  }
  here.stored.add('task', '', 1);
  await here.pass(keeper, 5);
  const of = [{ metric: 'stored_total' }, { metric: 'time_seconds' }];
  const day = await keeper.read({ last_ms: 24 * 3600 * 1000, points: 1, of });
  expect(day).toMatchObject({
    covered_ms: [185_000],
    series: [{ values: [31] }, { counts: [3], sums: [4.5] }],
  });
  const slots = await keeper.read({ last_ms: 3600 * 1000, points: 60, of });
  expect(slots.series[0]!.values!.slice(-4)).toEqual([10, 10, 10, 1]);
});

it('has the samples of an earlier process, also of one that was killed, up to its last write', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'samples-'));
  const file = join(directory.path, 'samples.jsonl');
  const first = processAt(file);
  // This process ends without a word: its keeper is never disposed.
  const killed = await first.open();
  for (let minute = 0; minute < 2; minute++) {
    first.stored.add('task', '', 10);
    await first.pass(killed, 60);
  }
  first.stored.add('täsk', '', 2);
  await first.pass(killed, 12);
  // The last line was cut off.
  await writeFile(file, '["second",17', { flag: 'a' });
  const second = processAt(file, start + 200_000);
  const of = [{ metric: 'stored_total', by: ['kind'] }];
  const next = await second.open();
  second.stored.add('task', '', 1);
  await second.pass(next, 1);
  const expected = {
    series: [
      { labels: { kind: 'task' }, values: [21] },
      { labels: { kind: 'täsk' }, values: [2] },
    ],
  };
  expect(await next.read({ last_ms: 3600 * 1000, points: 1, of })).toMatchObject(expected);
  expect(await next.read({ last_ms: 600_000, points: 1, of })).toMatchObject(expected);
  await next[Symbol.asyncDispose]();
  const third = processAt(file, start + 300_000);
  await using last = await third.open();
  expect(await last.read({ last_ms: 3600 * 1000, points: 1, of })).toMatchObject(expected);
  expect([first.warned, second.warned, third.warned]).toEqual([[], [], []]);
});

it('sets a damaged file aside with a warning, keeps the lines that can be read, and goes on', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'samples-'));
  const file = join(directory.path, 'samples.jsonl');
  const first = processAt(file);
  const keeper = await first.open();
  first.stored.add('task', '', 4);
  await first.pass(keeper, 60);
  await keeper[Symbol.asyncDispose]();
  const text = await readFile(file, 'utf8');
  const total = async (of: ReturnType<typeof processAt>) => {
    await using keeper = await of.open();
    const { series } = await keeper.read({
      last_ms: 3600 * 1000,
      points: 1,
      of: [{ metric: 'stored_total' }],
    });
    return series[0]?.values;
  };
  for (const [damaged, kept] of [
    [text.replace('\n["second"', '\n["sec\u0000nd"'), [4]],
    [text.replaceAll('stored_total', 'started_total'), undefined],
    ['\u0000\u0001', undefined],
    [`${text}${JSON.stringify(['minute', 1, 2, { stored_total: [[['task'], 'many']] }])}\n`, [4]],
  ] as const) {
    await writeFile(file, damaged);
    const second = processAt(file, start + 120_000);
    expect(await total(second)).toEqual(kept);
    expect(second.warned).toEqual([expect.stringMatching(/^samples_damaged: .*samples.jsonl.damaged/)]);
    const third = processAt(file, start + 180_000);
    expect(await total(third)).toEqual(kept);
    expect(third.warned).toEqual([]);
  }
  expect((await readdir(directory.path)).sort()).toEqual(['samples.jsonl', 'samples.jsonl.damaged']);
});

it('goes on in memory while the file can not be written, and warns once', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'samples-'));
  const here = processAt(join(directory.path, 'absent', 'samples.jsonl'));
  await using keeper = await here.open();
  here.stored.add('task', '', 4);
  await here.pass(keeper, 60);
  const answer = await keeper.read({ last_ms: 60_000, points: 1, of: [{ metric: 'stored_total' }] });
  expect(answer.series).toMatchObject([{ values: [4] }]);
  expect(here.warned).toEqual([expect.stringMatching(/^samples_not_written: .*ENOENT/)]);
});

it('has no more series in an answer than its bound, and one for all the rest', async () => {
  const here = processAt(undefined);
  await using keeper = await here.open();
  for (let tool = 0; tool < 100; tool++) here.times.observe(['files', `t${tool}`], 0.5);
  for (let kind = 0; kind < 100; kind++) here.stored.add(`k${kind}`, '', kind === 20 ? 7 : 1);
  await here.pass(keeper, 600);
  const of = [
    { metric: 'time_seconds', by: ['server', 'tool'] },
    ...new Array(7).fill({ metric: 'stored_total', by: ['kind'] }),
  ];
  const { series } = await keeper.read({ last_ms: 600_000, points: 360, of });
  const [files, stored] = [series.filter(({ counts }) => counts), series.filter(({ values }) => values)];
  expect(files.map(({ labels }) => labels.tool).sort()).toEqual(['other', 't0', 't1', 't2']);
  expect(stored).toHaveLength(7 * 16);
  const added = (values: readonly (number | null)[] = []) =>
    values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
  expect(stored.slice(0, 16).map(({ labels, values }) => [labels.kind, added(values)])).toEqual([
    ['other', 68],
    ['k20', 7],
    ...Array.from({ length: 13 }, (_, at) => [`k${at}`, 1]),
    ['other', 18],
  ]);
});

it('holds a bounded amount of numbers for one request: series beyond that are one', async () => {
  const many = new LabelledHistogram(
    { name: 'many', help: 'M.', labels: ['tool'] },
    [1, 2, 3, 4, 5, 6, 7, 8, 9],
    300,
  );
  for (let tool = 0; tool < 300; tool++) many.observe([`t${tool}`], 1);
  for (let more = 0; more < 50; more++) many.observe(['t299'], 1);
  let ms = 0;
  await using keeper = await SampleKeeper.open({
    ...{ file: undefined, now: () => start + ms, monotonic: () => ms, warn: () => {} },
    collect: () => [many.collect()],
  });
  ms = 1000;
  await keeper.tick();
  const named = async (points: number, selections: number) => {
    const of = new Array(selections).fill({ metric: 'many', by: ['tool'] });
    const { series } = await keeper.read({ last_ms: 600_000, points, of });
    return series.filter(({ labels }) => labels.tool === 't299').length;
  };
  expect([await named(1, 8), await named(300, 1), await named(300, 8)]).toEqual([8, 1, 1]);
});

it('keeps no more lines and bytes than its bounds', () => {
  const ring = new LineRing({ count: 3, bytes: 20 });
  for (const line of ['one', 'two', 'three', 'four']) ring.push(line);
  expect([ring.lines, ring.bytes]).toEqual([['two', 'three', 'four'], 15]);
  ring.push('a line of 18 bytes');
  expect([ring.lines, ring.bytes]).toEqual([['a line of 18 bytes'], 19]);
  expect(keptSamples).toMatchObject({ second: { count: 600 }, minute: { count: 1440 } });
});
