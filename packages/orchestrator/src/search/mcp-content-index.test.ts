import { expect, test } from 'vitest';
import { createMcpContentIndex } from './mcp-content-index.ts';

test('Prompts are found by their arguments too, resources and templates by their URIs and names.', async () => {
  const index = await createMcpContentIndex({
    prompts: [
      { name: 'mcp_git__review', description: 'Reviews a change.', arguments: [{ name: 'branch' }] },
      { name: 'mcp_mail__draft' },
    ],
    resources: [{ uri: 'file:///srv/handbook.md', name: 'Handbook', description: 'How we work.' }],
    templates: [{ uriTemplate: 'db://tables/{table}', name: 'Rows of a table' }],
  });
  expect(index.search('branch', 5).prompts?.map(({ name }) => name)).toEqual(['mcp_git__review']);
  const score = expect.any(Number);
  expect(index.search('handbook', 5)).toEqual({
    prompts: [],
    resources: [{ uri: 'file:///srv/handbook.md', name: 'Handbook', description: 'How we work.', score }],
  });
  expect(index.search('tables', 5).resources).toEqual([
    { uri_template: 'db://tables/{table}', name: 'Rows of a table', score },
  ]);
});
