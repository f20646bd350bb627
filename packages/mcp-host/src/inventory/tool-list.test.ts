import { readJson } from '@signalbox/protocol';
import { describe, expect, it } from 'vitest';
import { readToolList as read, type ToolPage } from './tool-list.ts';

const tool = (name: string, rest = {}) => ({ name, inputSchema: { type: 'object' }, ...rest });

const limits = { toolBytes: 500, tools: 1000, toolListBytes: 100_000 };

const readToolList = (
  readPage: Parameters<typeof read>[0],
  changed: Partial<Parameters<typeof read>[1]> = {},
) => read(readPage, { ...limits, ...changed });

function pages(list: Record<string, ToolPage>) {
  return async (cursor = 'first') => list[cursor]!;
}

describe('reading a tool list', () => {
  it('follows the cursors to the end and keeps every field', async () => {
    const odd = tool('b', {
      _meta: { 'vendor/x': 1 },
      'x-vendor': [1],
      annotations: { readOnlyHint: true, other: 2 },
    });
    const list = await readToolList(
      pages({ first: { tools: [tool('a')], nextCursor: 'n' }, n: { tools: [odd], nextCursor: null } }),
    );
    expect(list).toEqual({ tools: [tool('a'), odd], problems: [] });
  });

  it('leaves out tools that the configuration excludes or does not include, before they count', async () => {
    const first = { tools: ['read_a', 'read_b', 'write', 'other'].map((name) => tool(name)) };
    const names = async (filter: Parameters<typeof readToolList>[1]) => {
      const { tools, problems } = await readToolList(pages({ first }), { tools: 2, ...filter });
      return [...tools.map(({ name }) => name), ...problems.map(({ message }) => message)];
    };
    expect(await names({ includeTools: ['read_*', 'write'], excludeTools: ['*_b'] })).toEqual([
      'read_a',
      'write',
    ]);
    expect(await names({ excludeTools: ['read_*'] })).toEqual(['write', 'other']);
    expect(await names({ includeTools: [] })).toEqual([]);
    expect(await names({ includeTools: ['other', 'read_a,write'] })).toEqual([
      'other',
      "includeTools: 'read_a,write' matches no tool of the server",
    ]);
  });

  it('leaves a malformed tool out by name and keeps the others', async () => {
    const list = await readToolList(
      pages({ first: { tools: [tool('a'), { name: 'bad', inputSchema: { type: 'array' } }, 7, tool('b')] } }),
    );
    expect(list.tools.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(list.problems).toEqual([
      { tool: 'bad', message: expect.stringContaining('inputSchema.type') },
      { message: expect.stringContaining('not a valid tool') },
    ]);
  });

  it('stops at a cursor it has seen and says so', async () => {
    const again = { tools: [tool('a')], nextCursor: 'n' };
    const list = await readToolList(pages({ first: again, n: again }));
    expect(list.tools.map(({ name }) => name)).toEqual(['a']);
    expect(list.problems).toEqual([{ message: expect.stringContaining('repeats a cursor') }]);
  });

  it('stops at pages without end, and reads no page after the last tool that is shown', async () => {
    let page = 0;
    const endless = async () => ({ tools: [tool(`t${page}`)], nextCursor: `${page++}` });
    const list = await readToolList(endless, { tools: 3 });
    expect(list.tools.map(({ name }) => name)).toEqual(['t0', 't1', 't2']);
    expect(list.problems).toEqual([
      {
        tool: 't3',
        message:
          'left out with all tools after it: the server has more than 3 tools; raise limits.tools of the server',
      },
    ]);
    expect(page).toBe(4);
    const empty = await readToolList(async () => ({ tools: [], nextCursor: `${page++}` }));
    expect(empty).toEqual({
      tools: [],
      problems: [{ message: expect.stringContaining('does not end within 1000 pages') }],
    });
    expect(page).toBe(1004);
  });

  it('leaves out a tool that is too large or too deep, with its figure and its limit, and keeps the others', async () => {
    const deep = JSON.parse(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`);
    const exact = tool('exact', {
      description: 'x'.repeat(500 - JSON.stringify(tool('exact', { description: '' })).length),
    });
    const large = tool('large', { description: 'é'.repeat(250) });
    const tools = [tool('a'), large, exact, tool('deep', { x: deep }), tool('b')];
    const list = await readToolList(pages({ first: { tools } }));
    expect(list.tools.map(({ name }) => name)).toEqual(['a', 'exact', 'b']);
    expect(list.problems).toEqual([
      {
        tool: 'large',
        message: `left out: its definition takes ${Buffer.byteLength(JSON.stringify(large))} bytes, more than 500; raise limits.toolBytes of the server`,
      },
      { tool: 'deep', message: expect.stringContaining('nests deeper than 60 levels') },
    ]);
  });

  it('shows the first tools of a list that is too long as a whole, and counts the others', async () => {
    const tools = ['a', 'b', 'c', 'd'].map((name) => tool(name, { description: 'x'.repeat(100) }));
    const list = await readToolList(pages({ first: { tools } }), { toolListBytes: 400 });
    expect(list.tools.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(list.problems).toEqual([
      {
        tool: 'c',
        message: expect.stringMatching(
          /^left out with 1 after it: .* more than 400 bytes; raise limits.toolListBytes/,
        ),
      },
    ]);
  });

  it('tells twenty problems one by one, and counts the others', async () => {
    const tools = Array.from({ length: 50 }, (_, i) => tool(`bad${i}`, { inputSchema: 7 }));
    const { problems } = await readToolList(pages({ first: { tools } }));
    expect(problems).toHaveLength(21);
    expect(problems.at(-1)).toEqual({ message: '30 more tools have problems' });
  });

  it('tells five mended tools one by one beside the problems, counts the others, and keeps what was sent', async () => {
    const odd = Array.from({ length: 50 }, (_, i) => tool(`odd${i}`, { title: null, icons: ['x', 7] }));
    const list = await readToolList(pages({ first: { tools: [...odd, { name: 7 }, tool('a')] } }));
    expect(list.tools).toEqual([...odd.map(({ name }) => tool(name, { icons: [] })), tool('a')]);
    expect(list.sent).toEqual(new Map(odd.map((one) => [one.name, one])));
    expect(list.problems).toHaveLength(7);
    expect(list.problems[0]).toEqual({ message: expect.stringContaining('not a valid tool: name') });
    expect(list.problems[1]).toMatchObject({ tool: 'odd0', isMended: true });
    expect(list.problems.at(-1)).toEqual({ message: '45 more tools were mended', isMended: true });
  });

  it('keeps every digit of a tool that it mends', async () => {
    const sent =
      '{"name":"a","icons":[{"src":"x","sizes":7}],"inputSchema":{"type":"object","maximum":18446744073709551615}}';
    const list = await readToolList(pages({ first: { tools: [readJson(sent)] } }));
    expect(JSON.stringify(list.tools[0])).toBe(sent.replace(',"sizes":7', ''));
  });

  it('refuses what is no list', async () => {
    const reading = readToolList(pages({ first: { tools: undefined } }));
    await expect(reading).rejects.toMatchObject({ code: 'bad_tool_list' });
  });
});
