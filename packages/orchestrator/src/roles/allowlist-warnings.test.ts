import { expect, test } from 'vitest';
import { allowlistWarnings } from './allowlist-warnings.ts';
import { McpContentAllowlist } from './mcp-content-allowlist.ts';
import { RoleToolAllowlist } from './role-tool-allowlist.ts';

const mcpContent = {
  prompts: [{ server: 'mail', own: 'draft', prompt: { name: 'mcp_mail__draft' }, isHidden: false }],
  resources: [{ server: 'files', resource: { uri: 'file:///docs/a', name: 'a' }, isHidden: true }],
  templates: [{ server: 'db', template: { uriTemplate: 'db://{table}', name: 'table' }, isHidden: false }],
};

const warningsOf = (prompts: string[], resources: string[], known: object = { mcpContent }) =>
  allowlistWarnings(
    RoleToolAllowlist.unrestricted(),
    { tools: [], ...known },
    { mcpContent: McpContentAllowlist.fromEntries([['reader', { prompts, resources }]]) },
  );

test('A rule of ask or of repeats that matches nothing is warned about, if it is about one server.', () => {
  const origins = new Map([['mcp_files__write_file', { server: 'files', tool: 'write_file' }]]);
  const ask = [
    'files:writefile',
    { tool: 'files:wirte_*' },
    '*:delete_*',
    'mcp_*',
    { annotations: 'destructive' as const },
  ];
  const warned = allowlistWarnings(
    RoleToolAllowlist.unrestricted(),
    { tools: ['mcp_files__write_file'], origins },
    {
      approvals: { roles: { editor: [...ask, 'files:write_*'] } },
      repeat: { never: ['files:writefile', '*:write*s'] },
    },
  );
  expect(warned.map(({ message }) => message)).toEqual([
    "roles.editor.ask: 'files:writefile' matches no tool; the most similar tool is 'files:write_file'",
    expect.stringContaining("roles.editor.ask: 'files:wirte_*' matches no tool"),
    "neverRepeat: 'files:writefile' matches no tool; the most similar tool is 'files:write_file'",
  ]);
});

test('Patterns of prompts and resources that match something, if only something hidden or a template, are no problem.', () => {
  const prompts = ['mcp_mail__*', 'mail:draft', '*'];
  expect(warningsOf(prompts, ['files:file:///docs/*', 'db:db://users', 'd*:*', '*:*'])).toEqual([]);
});

test('Patterns of prompts and resources that match nothing are warned about with the nearest one.', () => {
  expect(
    warningsOf(['mcp_mail__darft', 'files:draft'], ['files:file:///dosc/*', 'db:file:///docs/a']),
  ).toEqual([
    {
      ...{ role: 'reader', kind: 'prompt', pattern: 'mcp_mail__darft', nearest: 'mcp_mail__draft' },
      message: "role 'reader': 'mcp_mail__darft' matches no prompt; the most similar prompt is 'mail:draft'",
    },
    expect.objectContaining({ kind: 'prompt', pattern: 'files:draft' }),
    {
      ...{ role: 'reader', kind: 'resource', pattern: 'files:file:///dosc/*' },
      nearest: 'files:file:///docs/a',
      message:
        "role 'reader': 'files:file:///dosc/*' matches no resource or template that is listed; the most similar resource is 'files:file:///docs/a'",
    },
    expect.objectContaining({ kind: 'resource', pattern: 'db:file:///docs/a' }),
  ]);
  const none = { mcpContent: { prompts: [], resources: [], templates: [] } };
  expect(warningsOf([], ['a:b'], none)[0]?.message).toContain('no resources are known');
});

test('A pattern of everything is no problem, although there may be nothing yet.', () => {
  const none = { mcpContent: { prompts: [], resources: [], templates: [] } };
  expect(warningsOf(['*'], ['*:*'], none)).toEqual([]);
});

test('Patterns of prompts and resources are not checked if it is not known what there is.', () => {
  expect(warningsOf(['mcp_mail__darft'], ['a:b'], {})).toEqual([]);
});

test('Long names, which servers choose, are neither compared with a pattern nor shown.', () => {
  const long = {
    server: 'files',
    resource: { uri: `file:///${'a'.repeat(1000)}`, name: 'a' },
    isHidden: false,
  };
  const known = { mcpContent: { prompts: [], resources: [long], templates: [] } };
  expect(warningsOf([], ['files:b'], known).map(({ message }) => message)).toEqual([
    "role 'reader': 'files:b' matches no resource or template that is listed",
  ]);
  const origins = new Map([['mcp_files__a', { server: 'files', tool: 'a'.repeat(1000) }]]);
  const allowlist = RoleToolAllowlist.fromEntries([['reader', ['mcp_files__b']]]);
  expect(allowlistWarnings(allowlist, { tools: ['mcp_files__a'], origins })[0]?.message).toContain(
    "the most similar tool is 'mcp_files__a'",
  );
});
