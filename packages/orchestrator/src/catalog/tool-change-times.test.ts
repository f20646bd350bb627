import type { Tool } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { ToolChangeTimes } from './tool-change-times.ts';

const tool = (name: string, description = ''): Tool => ({
  name,
  description,
  inputSchema: { type: 'object' },
});

test('a tool changes when it comes, goes or reads differently, and the first look is no change', () => {
  const times = new ToolChangeTimes();
  times.record([tool('a'), tool('b'), tool('c')], 1000);
  expect(times.changedAt('a')).toBeUndefined();
  times.record([tool('a'), tool('b', 'new'), tool('d')], 2000);
  times.record([tool('a'), tool('b', 'new'), tool('d', 'newer')], 3000);
  const changes = ['a', 'b', 'c', 'd', 'never'].map((name) => times.changedAt(name));
  expect(changes).toEqual([undefined, 2000, 2000, 3000, undefined]);
});

test('servers that make up names forget only the oldest changes', () => {
  const times = new ToolChangeTimes();
  times.record([], 0);
  const named = (from: number) => Array.from({ length: 6000 }, (_, n) => tool(`t${from + n}`));
  times.record(named(0), 1);
  times.record([...named(0), ...named(6000)], 2);
  expect(times.changedAt('t0')).toBeUndefined();
  expect([times.changedAt('t5999'), times.changedAt('t11999')]).toEqual([1, 2]);
});
