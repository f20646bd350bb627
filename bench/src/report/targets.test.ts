import { describe, it } from 'vitest';
import type { FleetReport } from '../fleet/fleet-report.ts';
import type { GrowthReport } from '../growth/growth-report.ts';
import type { Benchmarks, CallRow, Circumstances, MessageRow, PeerFacts } from './benchmarks.ts';
import { targetsOf, targetTable } from './targets.ts';

const circumstances: Circumstances = {
  date: '2026-01-01',
  machine: 'two cores',
  node: 'v24.0.0',
  load: { before: 0, after: 0 },
  rounds: 1,
  secondsPerRun: 1,
};

function messages(figures: Record<string, Record<string, [perSecond: number, p50Ms: number]>>) {
  const peers = Object.keys(figures).map((name): PeerFacts => {
    return { name, title: name, receiptMeans: 'fsynced', how: '', version: '' };
  });
  const rows = Object.entries(figures).flatMap(([peer, byWorkload]) =>
    Object.entries(byWorkload).map(([workload, [perSecond, p50Ms]]): MessageRow => {
      return { workload, peer, receiptMeans: 'fsynced', perSecond, p50Ms, p99Ms: 0, rounds: [] };
    }),
  );
  return { messages: { ...circumstances, peers, rows, skipped: [] } };
}

function calls(figures: [name: string, inFlight: number, perSecond: number, p50Ms: number][]) {
  const rows = figures.map(([name, inFlight, perSecond, p50Ms]): CallRow => {
    const over = name.endsWith('-http') || name === 'mcp-proxy' ? 'http' : 'stdio';
    return {
      ...{ name, title: name, over, part: 'compared', inFlight, processorUs: {} },
      ...{ perSecond, p50Ms, p99Ms: 0, rounds: [] },
    };
  });
  return { calls: { ...circumstances, rows, skipped: [] } };
}

function growth(...ladders: GrowthReport['ladders']): Benchmarks {
  return { growth: { ...circumstances, ladders, skipped: [] } };
}

function fleet(part: Partial<FleetReport>): Benchmarks {
  const empty = { calm: { p50Ms: 1, p99Ms: 1 }, calls: [], messages: [], recovery: [] };
  const tool = { name: 'slow', ms: 1, atOnce: 1 };
  return { fleet: { ...circumstances, workers: { fair: 2, recovering: 2 }, tool, ...empty, ...part } };
}

const told = (benchmarks: Benchmarks): [string, string, boolean][] =>
  targetsOf(benchmarks).map(({ target, figure, isMet }) => [target, figure, isMet]);

describe('targets', () => {
  it('are as many as the sections can answer, and none without a section', ({ expect }) => {
    expect(targetsOf({})).toEqual([]);
    expect(targetsOf(messages({ full: { 'request/64/300B': [100, 1] } }))).toEqual([]);
    expect(targetsOf(calls([['signalbox', 1, 100, 1]]))).toEqual([]);
  });

  it('compare request/reply with each mode of Redis at 64 in flight, and p50 at 1 with Redis and NATS', ({
    expect,
  }) => {
    const figures = messages({
      full: { 'request/64/300B': [130, 9], 'request/1/300B': [1, 1.2] },
      'redis-everysec': { 'request/64/300B': [100, 9] },
      'redis-always': { 'request/64/300B': [100, 9], 'request/1/300B': [1, 2] },
      nats: { 'request/1/300B': [1, 1] },
    });
    expect(told(figures)).toEqual([
      ['≥ 1.3×', '1.30×', true],
      ['≥ 2×', '1.30×', false],
      ['≤ 0.6×', '0.60×', true],
      ['≤ 1.2×', '1.20×', true],
    ]);
  });

  it('compare enqueue with the best of the others, not with a mode or an earlier state of ours', ({
    expect,
  }) => {
    const enqueue = (perSecond: number) => ({ 'enqueue/64/300B': [perSecond, 1] as [number, number] });
    const figures = messages({
      full: enqueue(90),
      process: enqueue(500),
      'full-before': enqueue(400),
      nats: enqueue(60),
      'redis-always': enqueue(100),
    });
    figures.messages.peers.find(({ name }) => name === 'full-before')!.earlierOf = 'full';
    const [row, ...more] = targetsOf(figures);
    expect(more).toEqual([]);
    expect(row).toMatchObject({ figure: '0.90×', isMet: false });
    expect(row!.what).toContain('redis-always');
    expect(targetTable([row!])).toContain('| ≥ 1× | 0.90× | **10 %** |');
  });

  it('compare enqueue also with the best of those that promise the same', ({ expect }) => {
    const enqueue = (perSecond: number) => ({ 'enqueue/64/300B': [perSecond, 1] as [number, number] });
    const figures = messages({ full: enqueue(90), redis: enqueue(100), 'redis-dedupe': enqueue(60) });
    figures.messages.peers.find(({ name }) => name === 'redis-dedupe')!.promisesSame = true;
    expect(told(figures)).toEqual([
      ['≥ 1×', '0.90×', false],
      ['≥ 1×', '1.50×', true],
    ]);
  });

  it('compare proxied calls with the naive proxy and with each other: latency at 1 in flight, rate at many', ({
    expect,
  }) => {
    const figures = calls([
      ['naive', 1, 1, 0.5],
      ['naive', 64, 1000, 1],
      ['signalbox', 1, 1, 2.5],
      ['signalbox', 64, 1000, 1],
      ['signalbox-journaled', 1, 1, 3],
      ['signalbox-shim', 1, 1, 2.55],
      ['naive-http', 1, 1, 1],
      ['naive-http', 128, 500, 1],
      ['mcp-proxy', 1, 1, 2],
      ['signalbox-http', 1, 1, 3],
      ['signalbox-http', 128, 600, 1],
    ]);
    expect(told(figures)).toEqual([
      ['≤ 3×', '5.00×', false],
      ['≥ 0.8×', '1.00×', true],
      ['≤ 1.4×', '1.20×', true],
      ['≤ 0.1 ms', '0.05 ms', true],
      ['≤ 2.5×', '3.00×', false],
      ['≤ 1×', '1.50×', false],
      ['≥ 1×', '1.20×', true],
    ]);
  });

  it('take the worst size of a cost that grows, pass by what has no target, and show the missed ones of a kind', ({
    expect,
  }) => {
    const sizes = [10, 1000, 100_000].map((size) => ({ size, label: `${size}` }));
    const cost = { samples: [] };
    const figures = growth({
      name: 'pending',
      sizes,
      notes: [],
      costs: [
        { ...cost, name: 'deliver', unit: 'µs', target: { timesSmallest: 2 }, values: [10, 25, 15] },
        { ...cost, name: 'peek', unit: 'µs', target: { timesSmallest: 2 }, values: [10, 11, 10] },
        { ...cost, name: 'memory', unit: 'MB', target: { atMost: [null, 250, null] }, values: [1, 200, 900] },
        { ...cost, name: 'rate', unit: '/s', values: [1, 2, 3] },
        { ...cost, name: 'ack', unit: 'µs', target: { timesSmallest: 2 }, values: [null, null, null] },
      ],
    });
    expect(told(figures)).toEqual([
      ['≤ 2×', '2.50× at 1000', false],
      ['≤ 2×', '1.10× at 1000', true],
      ['≤ 250 MB', '200.0 MB at 1000', true],
    ]);
    expect(targetTable(targetsOf(figures)).split('\n').slice(2)).toEqual([
      '| pending: deliver | ≤ 2× | 2.50× at 1000 | **25 %** |',
      '| pending: memory | ≤ 250 MB | 200.0 MB at 1000 |  |',
    ]);
  });

  it('ask for the smallest share of any worker, and of recovery that nobody stays away', ({ expect }) => {
    const row = { perSecond: 1, p50Ms: 1, p99Ms: 1, rounds: [] };
    const shares = { min: 0.79, p10: 0.9, median: 1 };
    const tally = { results: 0, outcomeUnknown: 0, failures: {}, lost: 0, doubled: 0, deniedFalsely: 0 };
    const killed = (victim: 'broker' | 'server', workersMs: (number | null)[]) => {
      return { victim, tally, kills: [{ workersMs }] };
    };
    const came = fleet({ recovery: [killed('broker', [100, 1500]), killed('server', [9000])] });
    expect(told(came)).toEqual([['≤ 1,500 ms', '1,500 ms', true]]);
    expect(told(fleet({ recovery: [killed('broker', [100, null])] }))).toEqual([
      ['≤ 1,500 ms', '∞ ms', false],
    ]);
    const fair = fleet({
      calls: [
        { ...row, condition: 'alone' },
        { ...row, condition: 'with', shares },
      ],
    });
    expect(told(fair)).toEqual([['≥ 80 %', '79 %', false]]);
  });
});
