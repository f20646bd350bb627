import { expect, it } from 'vitest';
import { buildInventory } from './inventory.ts';

const tool = (name: string, rest = {}) => ({ name, inputSchema: { type: 'object' as const }, ...rest });
const build = (lists: Record<string, ReturnType<typeof tool>[]>) =>
  buildInventory(new Map(Object.entries(lists).map(([server, tools]) => [server, { tools, problems: [] }])), {
    alike: new Set(),
    max: 48,
  });

it('renames tools and changes nothing else', () => {
  const { inventory, routes } = build({ Fs: [tool('read', { _meta: { a: 1 }, title: 'Read' })] });
  expect(inventory.tools).toEqual([tool('mcp_fs__read', { _meta: { a: 1 }, title: 'Read' })]);
  expect(routes.get('mcp_fs__read')).toMatchObject({ server: 'Fs', tool: { name: 'read' } });
});

it('has a version that changes with the tools and not with the order they came in', () => {
  const one = build({ a: [tool('x'), tool('y')], b: [tool('z')] }).inventory;
  const same = build({ b: [tool('z')], a: [tool('y'), tool('x')] }).inventory;
  const other = build({ a: [tool('x'), tool('y', { description: 'new' })], b: [tool('z')] }).inventory;
  expect(same).toEqual(one);
  expect(other.version).not.toBe(one.version);
});

it('reports the problems of each server under its name', () => {
  const lists = new Map([['s', { tools: [], problems: [{ tool: 't', message: 'm' }] }]]);
  expect(buildInventory(lists, { alike: new Set(), max: 48 }).inventory.problems).toEqual([
    { server: 's', tool: 't', message: 'm' },
  ]);
});
