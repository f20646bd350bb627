import { expect, test } from 'vitest';
import type { EntryPage } from './entry-list.ts';
import { buildMcpContent } from './mcp-content.ts';
import { readMcpContent } from './mcp-content-list.ts';

const limits = { toolBytes: 500, toolListBytes: 1_000_000, prompts: 2, resources: 10_000 };
const failed = (thrown: unknown) => `could not be listed: ${String(thrown)}`;
const resource = (uri: string, more = {}) => ({ uri, name: uri, ...more });

function read(lists: Partial<Record<string, unknown[]>>, more = {}) {
  const page = async (list: string): Promise<EntryPage> => ({ entries: lists[list] ?? [] });
  return readMcpContent(page, () => true, { ...limits, ...more }, failed);
}

test('Entries keep all fields, and one that is malformed is left out by name.', async () => {
  const odd = { name: 'p', 'x-vendor': 1, _meta: { a: 1 } };
  const list = await read({
    prompts: [odd, { name: 7 }, { name: 'bad', arguments: 'none' }],
    resources: [resource('file:///a', { size: 3 }), { uri: 'file:///b' }, 'x'],
    templates: [
      { uriTemplate: 'a:{x}', name: 'T' },
      { uriTemplate: 'signalbox://x/{y}', name: 'ours' },
    ],
  });
  expect(list.prompts).toEqual([odd]);
  expect(list.resources).toEqual([resource('file:///a', { size: 3 })]);
  expect(list.templates).toEqual([{ uriTemplate: 'a:{x}', name: 'T' }]);
  expect(list.problems.map(({ tool }) => tool)).toEqual([
    undefined,
    'prompt bad',
    'resource file:///b',
    undefined,
    'template signalbox://x/{y}',
  ]);
});

test('A resource whose URI has no normal form, or is one of ours, is left out.', async () => {
  const uris = ['file:///docs/../a', 'ui://signalbox/a/b', 'signalbox://other/file:///a', 'file:///docs/a'];
  const list = await read({ resources: uris.map((uri) => resource(uri)) });
  expect(list.resources.map(({ uri }) => uri)).toEqual(['file:///docs/a']);
  expect(list.problems).toHaveLength(3);
});

test('Of a hundred thousand resources in pages without end the first ten thousand are kept, which is told.', async () => {
  let pages = 0;
  const page = async (list: string): Promise<EntryPage> => {
    if (list !== 'resources') return { entries: [] };
    const from = 1000 * pages++;
    const entries = Array.from({ length: 1000 }, (_, i) => resource(`a:${from + i}`));
    return { entries, nextCursor: String(pages) };
  };
  const list = await readMcpContent(page, () => true, limits, failed);
  expect(list.resources).toHaveLength(10_000);
  expect(pages).toBe(11);
  expect(list.problems).toEqual([
    {
      tool: 'resource a:10000',
      message:
        'left out with all resources after it: the server has more than 10,000 resources; raise limits.resources of the server',
    },
  ]);
});

test('A list that cannot be read is named and leaves the others; one that is not declared is not asked for.', async () => {
  const asked: string[] = [];
  const page = async (list: string): Promise<EntryPage> => {
    asked.push(list);
    if (list === 'prompts') throw new Error('no');
    return { entries: list === 'resources' ? [resource('a:b')] : undefined };
  };
  const list = await readMcpContent(page, () => true, limits, failed);
  expect(list).toMatchObject({ prompts: [], resources: [resource('a:b')], unread: ['prompts', 'templates'] });
  expect(list.problems).toEqual([{ tool: 'prompts', message: 'could not be listed: Error: no' }]);
  asked.length = 0;
  await readMcpContent(page, (capability) => capability === 'prompts', limits, failed);
  expect(asked).toEqual(['prompts']);
});

test('Prompts are named like tools; resources stay as they are, in the order of the servers.', () => {
  const mcpContent = {
    prompts: [{ name: 'a b' }],
    resources: [resource('x:1')],
    templates: [],
    problems: [],
  };
  const built = buildMcpContent(
    [
      { name: 'one', mcpContent: { ...mcpContent, instructions: 'I' } },
      { name: 'two', prefix: false, isHidden: true, mcpContent, isMcpContentUntold: true },
    ],
    { alike: new Set(), max: 48 },
  );
  expect(built.prompts).toEqual([
    { server: 'two', own: 'a b', prompt: { name: 'a_b' }, isHidden: true },
    { server: 'one', own: 'a b', prompt: { name: 'mcp_one__a_b' }, isHidden: false },
  ]);
  expect(built.resources.map(({ server }) => server)).toEqual(['one', 'two']);
  expect(built.instructions).toEqual([{ server: 'one', text: 'I' }]);
  expect(built.untold).toEqual([{ server: 'two', prefix: false }]);
});
