import { describe, it } from 'vitest';
import type { CallRow, MessageRow, MessagesReport } from './benchmarks.ts';
import { callsWithoutEarlier, changeRowsOf, changeTable, messagesWithoutEarlier } from './changes.ts';

const circumstances = {
  date: '2026-01-01',
  machine: 'two cores',
  node: 'v24.0.0',
  load: { before: 0, after: 0 },
  rounds: 3,
  secondsPerRun: 1,
};

const figures = (rates: number[]) => ({
  perSecond: rates.toSorted((a, b) => a - b)[Math.floor(rates.length / 2)]!,
  p50Ms: 2,
  p99Ms: 3,
  rounds: rates.map((perSecond) => ({ perSecond, p50Ms: 2, p99Ms: 3 })),
});

function messages(rates: Record<string, number[]>): MessagesReport & typeof circumstances {
  const about = { title: '', receiptMeans: 'fsynced' as const, how: '', version: '' };
  const rows = Object.entries(rates).map(([peer, rounds]): MessageRow => {
    return { workload: 'request/64/300B', peer, receiptMeans: 'fsynced', ...figures(rounds) };
  });
  const peers = Object.keys(rates).map((name) => {
    return { name, ...about, ...(name === 'full-before' && { earlierOf: 'full' }) };
  });
  return { ...circumstances, peers, rows, skipped: [] };
}

describe('changes', () => {
  it('compare round by round, so that a round in which both were slow says as much as the others', ({
    expect,
  }) => {
    const measured = messages({ full: [20, 200, 110], 'full-before': [10, 100, 100], nats: [1, 1, 1] });
    expect(changeRowsOf({ messages: measured })).toMatchObject([
      { workload: 'request/64/300B full', ratio: { median: 2, least: 1.1, most: 2 } },
    ]);
  });

  it('leave out what one of the two was never measured in', ({ expect }) => {
    expect(changeRowsOf({ messages: messages({ full: [1], 'full-before': [] }) })).toEqual([]);
    expect(changeRowsOf({ messages: messages({ full: [1] }) })).toEqual([]);
  });

  it('hold proxied calls too, each number in flight by itself', ({ expect }) => {
    const row = (name: string, inFlight: number, rate: number): CallRow => {
      const kind = { title: '', over: 'stdio', part: 'compared', processorUs: {} } as const;
      return { name, ...kind, inFlight, ...figures([rate]) };
    };
    const rows = [
      row('signalbox', 1, 30),
      row('signalbox', 64, 40),
      { ...row('signalbox-before', 1, 10), earlierOf: 'signalbox' },
      { ...row('signalbox-before', 64, 80), earlierOf: 'signalbox' },
    ];
    const calls = { ...circumstances, rows, skipped: [] };
    expect(changeRowsOf({ calls }).map(({ workload, ratio }) => [workload, ratio.median])).toEqual([
      ['calls/1', 3],
      ['calls/64', 0.5],
    ]);
    expect(callsWithoutEarlier(calls).rows).toEqual(rows.slice(0, 2));
  });

  it('have a table with the extremes of the rounds, and are kept apart from the peers of the page', ({
    expect,
  }) => {
    const measured = messages({ full: [20], 'full-before': [10] });
    expect(
      changeTable(changeRowsOf({ messages: measured }))
        .split('\n')
        .at(-1),
    ).toBe('| request/64/300B full | 10 | 20 | **2.00×** (2.00–2.00) | 2.00 | 2.00 |');
    const kept = messagesWithoutEarlier(measured);
    expect(kept.peers.map(({ name }) => name)).toEqual(['full']);
    expect(kept.rows.map(({ peer }) => peer)).toEqual(['full']);
  });
});
