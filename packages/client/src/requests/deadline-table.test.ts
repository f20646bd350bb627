import { describe, expect, it } from 'vitest';
import { HandClock } from '../../test/hand-clock.ts';
import { DeadlineTable } from './deadline-table.ts';

describe('the deadline table', () => {
  it('runs deadlines in order of time, each once, on one timer', () => {
    const clock = new HandClock();
    const table = new DeadlineTable(clock);
    const fired: number[] = [];
    for (const at of [50, 10, 40, 20, 30, 10]) table.add(at, () => fired.push(at));
    expect(clock.running).toBe(1);
    clock.advance(25);
    expect(fired).toEqual([10, 10, 20]);
    clock.advance(100);
    expect(fired).toEqual([10, 10, 20, 30, 40, 50]);
    expect(clock.running).toBe(0);
    expect(table.size).toBe(0);
  });

  it('does not run what was cancelled, and runs its neighbours', () => {
    const clock = new HandClock();
    const table = new DeadlineTable(clock);
    const fired: string[] = [];
    const gone = table.add(10, () => fired.push('gone'));
    table.add(10, () => fired.push('kept'));
    table.cancel(gone);
    table.cancel(gone);
    expect(table.size).toBe(1);
    clock.advance(10);
    expect(fired).toEqual(['kept']);
  });

  it('keeps neither entries nor timers for a hundred thousand requests that were answered in time', () => {
    const clock = new HandClock();
    const table = new DeadlineTable(clock);
    for (let i = 0; i < 100_000; i++) table.cancel(table.add(30_000 + i, () => {}));
    expect(table.size).toBe(0);
    expect(clock.started).toBeLessThan(2_000);
    let fired = false;
    table.add(5, () => {
      fired = true;
    });
    clock.advance(5);
    expect(fired).toBe(true);
  });

  it('takes a deadline that is added or cancelled by one that runs', () => {
    const clock = new HandClock();
    const table = new DeadlineTable(clock);
    const fired: string[] = [];
    const victim = table.add(20, () => fired.push('victim'));
    table.add(10, () => {
      table.cancel(victim);
      table.add(15, () => fired.push('added'));
    });
    clock.advance(50);
    expect(fired).toEqual(['added']);
  });

  it('waits for deadlines further away than a timer can reach', () => {
    const clock = new HandClock();
    const table = new DeadlineTable(clock);
    const month = 31 * 86_400_000;
    let fired = false;
    table.add(month, () => {
      fired = true;
    });
    clock.advance(month - 1);
    expect(fired).toBe(false);
    clock.advance(month);
    expect(fired).toBe(true);
  });

  it('orders any mix of additions and cancellations', () => {
    const clock = new HandClock();
    const table = new DeadlineTable(clock);
    const fired: number[] = [];
    let seed = 7;
    const next = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed;
    };
    const entries = Array.from({ length: 2_000 }, () => {
      const at = next() % 10_000;
      return { at, deadline: table.add(at, () => fired.push(at)) };
    });
    const kept = entries.filter(({ deadline }) => {
      const keep = next() % 3 === 0;
      if (!keep) table.cancel(deadline);
      return keep;
    });
    clock.advance(10_000);
    expect(fired).toEqual(kept.map(({ at }) => at).sort((a, b) => a - b));
  });
});
