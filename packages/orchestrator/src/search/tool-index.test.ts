import type { Tool } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { createToolIndex } from './tool-index.ts';

const tool = (name: string, rest: Partial<Tool> = {}): Tool => ({
  name,
  inputSchema: { type: 'object' },
  ...rest,
});

const tools = [
  tool('mcp_files__read_text_file', { description: 'Read a file from the disk as text.' }),
  tool('mcp_files__writeFile', { description: 'Put text where it belongs.' }),
  tool('mcp_mail__send', {
    title: 'Send a letter',
    description: 'Delivers to a mailbox.',
    inputSchema: {
      type: 'object',
      properties: {
        recipient: { type: 'string', description: 'Whom it is for.' },
        parts: { type: 'array', items: { type: 'object', properties: { attachment: { type: 'string' } } } },
      },
    },
  }),
  tool('mcp_shop__find', { annotations: { title: 'Catalogue' } }),
  tool('mcp_git__log', { description: 'History of a repository, newest commit first.' }),
];
const index = await createToolIndex(tools);
const namesFor = (query: string, limit = 10) => index.search(query, limit).map(({ tool: { name } }) => name);

test.each([
  ['words of a snake_case name', 'text file', 'mcp_files__read_text_file'],
  ['words of a camelCase name', 'write file', 'mcp_files__writeFile'],
  ['a whole name', 'mcp_git__log', 'mcp_git__log'],
  ['a title', 'letter', 'mcp_mail__send'],
  ['a title among its annotations', 'catalogue', 'mcp_shop__find'],
  ['a description', 'commit history', 'mcp_git__log'],
  ["a parameter's name", 'recipient', 'mcp_mail__send'],
  ["a nested parameter's name", 'attachment', 'mcp_mail__send'],
  ["a parameter's description", 'whom', 'mcp_mail__send'],
  ['the beginning of a word', 'repos', 'mcp_git__log'],
  ['a word with a slip', 'atachment', 'mcp_mail__send'],
])('a tool is found by %s', (_what, query, name) => {
  expect(namesFor(query)[0]).toBe(name);
});

test('a word in a name counts for more than one in a description', async () => {
  const both = await createToolIndex([tool('b', { description: 'branch' }), tool('make_branch')]);
  expect(both.search('branch', 10).map((found) => found.tool.name)).toEqual(['make_branch', 'b']);
});

test('tools that fit equally well come in the order of their names, and no more than asked for', async () => {
  const alike = await createToolIndex(['c', 'a', 'b'].map((name) => tool(`${name}_same`)));
  const found = alike.search('same', 2);
  expect(found.map(({ tool: { name } }) => name)).toEqual(['a_same', 'b_same']);
  expect(found[0]!.score).toBeGreaterThan(0);
});

test('a query without words, or that fits nothing, finds nothing', async () => {
  expect([namesFor('?!'), namesFor('zebra')]).toEqual([[], []]);
});

test('schemas that are no plain schemas, and endless ones, are read as far as they make sense', async () => {
  const endless: Record<string, unknown> = { type: 'object' };
  endless.properties = { deep: endless, odd: 7, none: null, list: ['x'] };
  const odd = await createToolIndex([
    tool('one', { inputSchema: endless as Tool['inputSchema'] }),
    tool('two', { inputSchema: { type: 'object', properties: 'nonsense' } as never }),
  ]);
  expect(odd.search('odd', 10).map((found) => found.tool.name)).toEqual(['one']);
});
