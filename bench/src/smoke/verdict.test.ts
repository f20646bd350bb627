import { describe, it } from 'vitest';
import type { SmokeRound } from './parts.ts';
import { faultsOf, ratiosOf } from './verdict.ts';

function round(echo: number, row: number, request: number, enqueue: number): SmokeRound {
  const cost = (cpuUs: number) => ({ cpuUs, wallUs: cpuUs * 10 });
  return { echo: cost(echo), row: cost(row), request: cost(request), enqueue: cost(enqueue) };
}

const record = { date: '2026-01-01', machine: 'two cores', ratios: { request: 0.4, enqueue: 0.8 } };

describe('the smoke guard', () => {
  it('divides what frames and rows cost in all rounds, two of each for a request, by what our operation did', ({
    expect,
  }) => {
    const rounds = [round(30, 10, 250, 40), round(30, 10, 150, 60)];
    expect(ratiosOf(rounds)).toEqual({ request: 0.4, enqueue: 0.8 });
    expect(ratiosOf(rounds, 'wallUs')).toEqual({ request: 0.4, enqueue: 0.8 });
  });

  it('says the same whether the machine is fast or slow', ({ expect }) => {
    expect(ratiosOf([round(60, 20, 400, 100)])).toEqual(ratiosOf([round(30, 10, 200, 50)]));
  });

  it('lets pass a quarter less than recorded, and names what is beyond with both figures', ({ expect }) => {
    expect(faultsOf({ request: 0.301, enqueue: 0.601 }, record)).toEqual([]);
    const faults = faultsOf({ request: 0.9, enqueue: 0.59 }, record);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(/^enqueue: ratio 0\.590, recorded 0\.800 .*26 % less/);
  });
});
