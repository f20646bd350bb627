import { describe, expect, it } from 'vitest';
import { readToolList, type ToolPage } from './tool-list.ts';

const tool = (name: string, rest = {}) => ({ name, inputSchema: { type: 'object' }, ...rest });

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

  it('stops at a list without end', async () => {
    let page = 0;
    const list = await readToolList(async () => ({ tools: [tool(`t${page}`)], nextCursor: `${page++}` }));
    expect(list.tools).toHaveLength(1000);
    expect(list.problems).toHaveLength(1);
  });

  it('refuses what is no list', async () => {
    const reading = readToolList(pages({ first: { tools: undefined } }));
    await expect(reading).rejects.toMatchObject({ code: 'bad_tool_list' });
  });
});
