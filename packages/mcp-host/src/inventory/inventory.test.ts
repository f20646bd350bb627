import { expect, it } from 'vitest';
import { buildInventory } from './inventory.ts';

const tool = (name: string, rest = {}) => ({ name, inputSchema: { type: 'object' as const }, ...rest });
type Tools = ReturnType<typeof tool>[];
const sources = (lists: Record<string, Tools>, rest = {}) =>
  Object.entries(lists).map(([name, tools]) => ({ name, tools, problems: [], ...rest }));
const naming = { alike: new Set<string>(), max: 48 };
const build = (lists: Record<string, Tools>, provided: Record<string, Tools> = {}) =>
  buildInventory(sources(lists), sources(provided), naming);

it('renames tools and changes nothing else', () => {
  const { inventory, targets } = build({ Fs: [tool('read', { _meta: { a: 1 }, title: 'Read' })] });
  expect(inventory.tools).toEqual([tool('mcp_fs__read', { _meta: { a: 1 }, title: 'Read' })]);
  expect(inventory.renamed).toEqual([]);
  expect(targets.get('mcp_fs__read')).toMatchObject({ server: 'Fs', tool: { name: 'read' } });
});

it('has a version that changes with the tools and not with the order they came in', () => {
  const one = build({ a: [tool('x'), tool('y')], b: [tool('z')] }).inventory;
  const same = build({ b: [tool('z')], a: [tool('y'), tool('x')] }).inventory;
  const other = build({ a: [tool('x'), tool('y', { description: 'new' })], b: [tool('z')] }).inventory;
  // The order of the servers decides which of them is asked for a resource, and changes nothing else.
  expect({ ...same, mcpContent: one.mcpContent }).toEqual(one);
  expect(other.version).not.toBe(one.version);
});

it('reports the problems of each server under its name', () => {
  const server = { name: 's', tools: [], problems: [{ tool: 't', message: 'm' }] };
  expect(buildInventory([server], [], naming).inventory.problems).toEqual([
    { server: 's', tool: 't', message: 'm' },
  ]);
});

it('keeps the tools of an undiscoverable server apart, but callable, and its version follows them', () => {
  const hide = (tools: Tools) =>
    buildInventory(
      [...sources({ a: [tool('x')] }), ...sources({ b: tools }, { isHidden: true })],
      [],
      naming,
    );
  const { inventory, targets } = hide([tool('z')]);
  expect(inventory.tools).toEqual([tool('mcp_a__x')]);
  expect(inventory.hidden).toEqual([tool('mcp_b__z')]);
  expect(targets.get('mcp_b__z')).toMatchObject({ server: 'b', tool: { name: 'z' } });
  expect(hide([tool('z', { title: 'Z' })]).inventory.version).not.toBe(inventory.version);
  expect(build({ a: [tool('x')], b: [tool('z')] }).inventory.version).not.toBe(inventory.version);
});

it('says which tools have another name than they would have, and why', () => {
  const long = 'l'.repeat(60);
  const { renamed } = buildInventory(
    sources({ s: [tool('a.b'), tool('a_b'), tool(long)], 'x.y': [tool('t')] }),
    [],
    { alike: new Set(['x.y']), max: 48 },
  ).inventory;
  expect(renamed).toEqual([
    { server: 's', tool: 'a.b', name: expect.stringMatching(/^mcp_s__a_b_/), reason: expect.any(String) },
    { server: 's', tool: long, name: expect.any(String), reason: expect.stringContaining('48 characters') },
    { server: 'x.y', tool: 't', name: expect.any(String), reason: expect.stringContaining('another server') },
  ]);
});

it('shows the tools of providers under their own names, unless a server has one of that name', () => {
  const { inventory, targets } = build(
    { a: [tool('x')] },
    { files: [tool('weather'), tool('mcp_a__x')], more: [tool('weather', { title: 'Other' })] },
  );
  expect(inventory.tools).toEqual([tool('mcp_a__x'), tool('weather')]);
  expect(targets.get('mcp_a__x')).toMatchObject({ server: 'a' });
  const provided = [...targets].filter(([, { isProvided }]) => isProvided);
  expect(provided).toEqual([['weather', { server: 'files', tool: tool('weather'), isProvided: true }]]);
  expect(inventory.problems).toEqual([
    { server: 'files', tool: 'mcp_a__x', message: expect.stringContaining('another tool') },
    { server: 'more', tool: 'weather', message: expect.stringContaining('another tool') },
  ]);
});

it('shows the tools of a server without a prefix under their own names, and says which they are', () => {
  const { inventory, targets } = buildInventory(
    [
      ...sources({ a: [tool('x'), tool('mcp_b__x')] }, { prefix: false }),
      ...sources({ b: [tool('x')] }),
      ...sources({ c: [tool('x')] }, { prefix: false }),
    ],
    [],
    naming,
  );
  expect(inventory.tools.map(({ name }) => name)).toEqual(['mcp_a__mcp_b__x', 'mcp_b__x', 'x']);
  expect(targets.get('x')?.server).toBe('a');
  expect(targets.get('mcp_b__x')?.server).toBe('b');
  expect(inventory.unprefixed).toEqual([
    { server: 'a', tool: 'x', name: 'x' },
    { server: 'a', tool: 'mcp_b__x', name: 'mcp_a__mcp_b__x' },
  ]);
  expect(inventory.renamed).toEqual([expect.objectContaining({ name: 'mcp_a__mcp_b__x' })]);
  expect(inventory.problems).toEqual([
    { server: 'c', tool: 'x', message: 'left out: another tool already has its name' },
  ]);
});

it('shows tools of providers in a form that clients accept, too, and leaves out one that has none', () => {
  const odd = tool('odd', { outputSchema: { type: 'object', properties: { x: true } } });
  const { inventory } = build({}, { files: [odd, tool('bad', { inputSchema: { type: 'array' } })] });
  expect(inventory.tools).toEqual([tool('odd', { outputSchema: { type: 'object', properties: { x: {} } } })]);
  expect(inventory.problems).toEqual([
    { server: 'files', tool: 'bad', message: expect.stringContaining('inputSchema.type') },
  ]);
});
