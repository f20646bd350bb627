import type { Tool } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { DefinitionLog } from './tool-change-times.ts';

const tool = (name: string, description = ''): Tool => ({
  name,
  description,
  inputSchema: { type: 'object' },
});

test('a tool changes when it comes, goes or reads differently, and the first look is no change', () => {
  const log = new DefinitionLog();
  log.record([tool('a'), tool('b'), tool('c')], 1000);
  expect(log.changedAt('a')).toBeUndefined();
  log.record([tool('a'), tool('b', 'new'), tool('d')], 2000);
  log.record([tool('a'), tool('b', 'new'), tool('d', 'newer')], 3000);
  const times = ['a', 'b', 'c', 'd', 'never'].map((name) => log.changedAt(name));
  expect(times).toEqual([undefined, 2000, 2000, 3000, undefined]);
});

test('servers that make up names forget only the oldest changes', () => {
  const log = new DefinitionLog();
  log.record([], 0);
  const named = (from: number) => Array.from({ length: 6000 }, (_, n) => tool(`t${from + n}`));
  log.record(named(0), 1);
  log.record([...named(0), ...named(6000)], 2);
  expect(log.changedAt('t0')).toBeUndefined();
  expect([log.changedAt('t5999'), log.changedAt('t11999')]).toEqual([1, 2]);
});
