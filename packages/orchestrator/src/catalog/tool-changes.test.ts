import type { Tool } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { ToolChanges } from './tool-changes.ts';

const tool = (name: string, description = ''): Tool => ({
  name,
  description,
  inputSchema: { type: 'object' },
});

/** Follows changes of tools whose names begin with their server: `a_1` is of server `a`. */
function follow() {
  const changes = new ToolChanges(({ description }) => `hash of '${description}'`);
  const serverOf = (name: string) => name.split('_')[0];
  return { changes, record: (tools: Tool[], at: number) => changes.record({ tools, serverOf }, at) };
}

test('a tool changes when it comes, goes or reads differently, and the first look is no change', () => {
  const { changes, record } = follow();
  record([tool('s_a'), tool('s_b'), tool('s_c')], 1000);
  expect(changes.changedAt('s_a')).toBeUndefined();
  record([tool('s_a'), tool('s_b', 'new'), tool('s_d')], 2000);
  record([tool('s_a'), tool('s_b', 'new'), tool('s_d', 'newer')], 3000);
  const times = ['s_a', 's_b', 's_c', 's_d', 'never'].map((name) => changes.changedAt(name));
  expect(times).toEqual([undefined, 2000, 2000, 3000, undefined]);
  expect(changes.ofServer('s')).toEqual([
    {
      tool: 's_d',
      at: 3000,
      what: 'changed',
      fields: ['description'],
      before: "hash of ''",
      after: "hash of 'newer'",
    },
    { tool: 's_c', at: 2000, what: 'removed', before: "hash of ''" },
    {
      tool: 's_b',
      at: 2000,
      what: 'changed',
      fields: ['description'],
      before: "hash of ''",
      after: "hash of 'new'",
    },
  ]);
});

test('a server that starts or is away has not changed its tools, and that of another is not listed', () => {
  const { changes, record } = follow();
  record([tool('a_1')], 1);
  record([tool('a_1'), tool('b_1')], 2);
  record([tool('b_1')], 3);
  record([tool('b_1', 'new')], 4);
  expect(changes.ofServer('a')).toEqual([]);
  expect(changes.ofServer('b')).toMatchObject([{ tool: 'b_1', at: 4 }]);
  expect(['a_1', 'b_1'].map((name) => changes.changedAt(name))).toEqual([undefined, 4]);
});

test('servers that make up names forget only the oldest changes', () => {
  const { changes, record } = follow();
  const named = (from: number) => Array.from({ length: 6000 }, (_, n) => tool(`t_${from + n}`));
  record([tool('t_')], 0);
  record(named(0), 1);
  record([...named(0), ...named(6000)], 2);
  expect(changes.changedAt('t_0')).toBeUndefined();
  expect([changes.changedAt('t_5999'), changes.changedAt('t_11999')]).toEqual([1, 2]);
});
