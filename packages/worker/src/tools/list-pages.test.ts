import { expect, test } from 'vitest';
import { listPage, toolPage } from './list-pages.ts';

const tools = (count: number, description = '') =>
  Array.from({ length: count }, (_, i) => ({
    name: `t${i}`,
    description,
    inputSchema: { type: 'object' as const },
  }));

test('up to 1,000 tools and 4 MiB are one page', () => {
  expect(toolPage(tools(1000), undefined)).toEqual({ tools: tools(1000) });
  expect(toolPage([], undefined)).toEqual({ tools: [] });
  const large = tools(9, 'x'.repeat(450_000));
  expect(toolPage(large, undefined)).toEqual({ tools: large });
});

test('every tool of a longer list is on one page, a tool that is larger than a page on its own', () => {
  for (const list of [tools(2500), tools(20, 'é'.repeat(400_000)), tools(2, 'x'.repeat(5_000_000))]) {
    const read: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = toolPage(list, cursor);
      read.push(...page.tools.map(({ name }) => name));
      cursor = page.nextCursor;
      pages++;
    } while (cursor !== undefined);
    expect(read).toEqual(list.map(({ name }) => name));
    expect(pages).toBeGreaterThan(1);
  }
});

test('a cursor whose tool is gone asks the client to start over', () => {
  const { nextCursor } = toolPage(tools(1001), undefined);
  expect(toolPage(tools(1001), nextCursor).tools.map(({ name }) => name)).toEqual(['t1000']);
  expect(() => toolPage(tools(500), nextCursor)).toThrow(expect.objectContaining({ code: -32602 }));
});

test('every one of 10,000 resources is on one page', () => {
  const entries = Array.from({ length: 10_000 }, (_, i) => ({ uri: `demo://ä/${i}`, name: `${i}` }));
  const list = { what: 'resources', entries, keyOf: ({ uri }: { uri: string }) => uri };
  const read: string[] = [];
  for (let cursor: string | undefined, pages = 0; pages < 11; pages++) {
    const { page, nextCursor } = listPage(list, cursor);
    read.push(...page.map(({ uri }) => uri));
    cursor = nextCursor;
    if (cursor === undefined) break;
  }
  expect(read).toEqual(entries.map(({ uri }) => uri));
});
