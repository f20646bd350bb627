import type { McpContent } from '@signalbox/mcp-host';
import { expect, test } from 'vitest';
import { McpContentAllowlist } from '../roles/mcp-content-allowlist.ts';
import { mcpContentOfRole } from './role-mcp-content.ts';
import { type McpContentQuestion, routeMcpContent } from './route-mcp-content.ts';
import { noPages } from './tool-pages.ts';

const resource = (server: string, uri: string, isHidden = false) => ({
  server,
  resource: { uri, name: uri },
  isHidden,
});
const template = (server: string, uriTemplate: string) => ({
  server,
  template: { uriTemplate, name: uriTemplate },
  isHidden: false,
});
const shared = 'file:///shared/a';
const mcpContent: McpContent = {
  servers: ['files', 'copy', 'db'],
  untold: [],
  prompts: [
    { server: 'db', own: 'explain', prompt: { name: 'mcp_db__explain' }, isHidden: false },
    { server: 'files', own: 'sum', prompt: { name: 'mcp_files__sum' }, isHidden: true },
  ],
  resources: [resource('files', shared), resource('copy', shared), resource('copy', 'file:///docs/a')],
  templates: [template('files', 'file:///{+path}'), template('copy', 'file:///docs/{name}')],
  instructions: [
    { server: 'files', text: 'F' },
    { server: 'copy', text: 'C' },
    { server: 'db', text: 'D' },
  ],
};
const all = McpContentAllowlist.unrestricted();
const rules = McpContentAllowlist.fromEntries(
  [
    ['all', { prompts: ['*'], resources: ['*:*'] }],
    ['copier', { resources: ['copy:file:///*'] }],
    ['docs', { resources: ['*:file:///docs/*'], prompts: ['db:explain'] }],
    ['none', {}],
  ],
  { unlisted: 'deny' },
);

const route = (role: string, question: McpContentQuestion, allowlist = rules) => {
  const routing = routeMcpContent({ mcpContent, allowlist, pages: noPages }, role, question);
  return 'route' in routing ? routing.route : routing.refusal.code;
};
const read = (uri: unknown, seenAt?: string): McpContentQuestion => ({
  method: 'resources/read',
  params: { uri },
  seenAt,
});
const serverOf = (role: string, question: McpContentQuestion) => {
  const found = route(role, question);
  return typeof found === 'string' ? found : found.server;
};
const shown = (role: string, allowlist = rules) =>
  mcpContentOfRole({ mcpContent, allowlist, pages: noPages }, role, () => false);

test('A URI goes to the first server that lists it and of which the role may read it.', () => {
  expect(serverOf('all', read(shared))).toBe('files');
  expect(serverOf('copier', read(shared))).toBe('copy');
  expect(serverOf('docs', read(shared))).toBe('permission_denied');
  expect(serverOf('none', read(shared))).toBe('permission_denied');
});

test('A list goes before a template, and a template before the tool whose result named the URI.', () => {
  expect(serverOf('all', read('file:///docs/a'))).toBe('copy');
  expect(serverOf('all', read('file:///docs/b', 'db'))).toBe('files');
  expect(serverOf('all', read('db://table/1', 'db'))).toBe('db');
  expect(serverOf('all', read('db://table/1'))).toBe('not_found');
  expect(serverOf('docs', read('db://table/1', 'db'))).toBe('permission_denied');
});

test('A template of a server never leads to what its role may not read there.', () => {
  expect(serverOf('docs', read('file:///docs/b'))).toBe('files');
  expect(serverOf('docs', read('file:///etc/passwd'))).toBe('permission_denied');
  expect(serverOf('docs', read('file:///docs/../etc/passwd'))).toBe('invalid_arguments');
  expect(serverOf('docs', read('file:///docs/%2e%2e/etc/passwd'))).toBe('invalid_arguments');
});

test('The second of two servers with one URI is read under its own name, by the same rules.', () => {
  expect(shown('all').resources.map(({ uri }) => uri)).toEqual([
    shared,
    `signalbox://copy/${shared}`,
    'file:///docs/a',
  ]);
  expect(shown('copier').resources.map(({ uri }) => uri)).toEqual([shared, 'file:///docs/a']);
  expect(route('all', read(`signalbox://copy/${shared}`))).toMatchObject({
    server: 'copy',
    params: { uri: shared },
    resource: { asked: `signalbox://copy/${shared}`, uri: shared },
  });
  expect(serverOf('copier', read(`signalbox://files/${shared}`))).toBe('permission_denied');
  expect(serverOf('copier', read(`signalbox://copy/${shared}`))).toBe('copy');
  expect(serverOf('all', read('signalbox://copy/file:///docs/../x'))).toBe('invalid_arguments');
  expect(serverOf('all', read('signalbox://copy'))).toBe('invalid_arguments');
  expect(serverOf('all', read(7))).toBe('invalid_arguments');
});

test('One server may list a URI as a resource and as a template: both are shown under that URI.', () => {
  const both = {
    ...mcpContent,
    resources: [resource('copy', shared)],
    templates: [template('copy', shared)],
  };
  const { resources, templates } = mcpContentOfRole(
    { mcpContent: both, allowlist: rules, pages: noPages },
    'copier',
    () => false,
  );
  expect([resources[0]?.uri, templates[0]?.uriTemplate]).toEqual([shared, shared]);
});

test('A hidden resource is not shown, and takes no URI from one that is.', () => {
  const first = { ...mcpContent, resources: [resource('files', shared, true), resource('copy', shared)] };
  const hidden = { mcpContent: first, allowlist: all, pages: noPages };
  expect(mcpContentOfRole(hidden, 'any', () => false).resources).toEqual([{ uri: shared, name: shared }]);
  expect(routeMcpContent(hidden, 'any', read(shared))).toMatchObject({
    route: { server: 'copy' },
  });
});

test('A URI is found, allowed and named by its normal form, and its server is asked in the spelling that it lists.', () => {
  const listed = [resource('files', 'memo://Bob/a b'), resource('copy', 'MEMO://bob/a%20b')];
  const both = [...listed, resource('copy', 'memo://bob/a%20b')];
  const at = (uris: typeof listed, uri: string, patterns = ['*:*']) => {
    const allowlist = McpContentAllowlist.fromEntries([['reader', { resources: patterns }]]);
    const spelled = { mcpContent: { ...mcpContent, resources: uris }, allowlist, pages: noPages };
    const found = routeMcpContent(spelled, 'reader', read(uri));
    return 'route' in found ? found.route.params.uri : found.refusal.code;
  };
  expect(at(listed, 'memo://BOB/a%20b')).toBe('memo://Bob/a b');
  expect(at(listed, 'memo://BOB/A%20b')).toBe('not_found');
  expect(at(listed, 'memo://bob/a b', ['copy:Memo://BOB/a*'])).toBe('MEMO://bob/a%20b');
  expect(at(both, 'memo://bob/a%20b', ['copy:*'])).toBe('memo://bob/a%20b');
  expect(at(both, 'memo://bob/a b', ['copy:memo://bob/A*'])).toBe('permission_denied');
  expect(at([], 'FILE:///docs/A%2d b')).toBe('FILE:///docs/A%2d b');
  const everything = { mcpContent: { ...mcpContent, resources: both }, allowlist: all, pages: noPages };
  expect(mcpContentOfRole(everything, 'any', () => false).resources.map(({ uri }) => uri)).toEqual([
    'memo://Bob/a b',
    'signalbox://copy/MEMO://bob/a%20b',
    'signalbox://copy/memo://bob/a%20b',
  ]);
});

test('A template of a server never conflicts with a resource of the same server.', () => {
  const same = {
    ...mcpContent,
    resources: [resource('db', 'memo://all')],
    templates: [template('db', 'memo://all')],
  };
  const view = mcpContentOfRole({ mcpContent: same, allowlist: all, pages: noPages }, 'any', () => false);
  expect(view.templates.map(({ uriTemplate }) => uriTemplate)).toEqual(['memo://all']);
});

test('A role is shown the templates of which it may read everything.', () => {
  expect(shown('all').templates).toHaveLength(2);
  expect(shown('docs').templates.map(({ uriTemplate }) => uriTemplate)).toEqual(['file:///docs/{name}']);
  expect(shown('none').templates).toEqual([]);
});

test('A prompt goes to its server under its own name; a forbidden one is refused whether it exists or not.', () => {
  const get = (name: string): McpContentQuestion => ({
    method: 'prompts/get',
    params: { name, arguments: { a: '1' } },
  });
  expect(route('docs', get('mcp_db__explain'))).toMatchObject({
    server: 'db',
    params: { name: 'explain', arguments: { a: '1' } },
  });
  const bare: McpContentQuestion = { method: 'prompts/get', params: { name: 'mcp_db__explain' } };
  expect(route('docs', bare)).toMatchObject({ params: { name: 'explain', arguments: {} } });
  expect(serverOf('docs', get('mcp_files__sum'))).toBe('permission_denied');
  expect(serverOf('docs', get('mcp_files__nothing'))).toBe('permission_denied');
  expect(serverOf('all', get('mcp_files__sum'))).toBe('files');
  expect(serverOf('all', get('mcp_files__nothing'))).toBe('not_found');
  expect(shown('all').prompts.map(({ name }) => name)).toEqual(['mcp_db__explain']);
});

test('Completion is allowed where its prompt or template is.', () => {
  const complete = (ref: object): McpContentQuestion => ({
    method: 'completion/complete',
    params: { ref, argument: { name: 'x', value: '' } },
  });
  const ofPrompt = complete({ type: 'ref/prompt', name: 'mcp_db__explain' });
  const narrow = complete({ type: 'ref/resource', uri: 'file:///docs/{name}' });
  const wide = complete({ type: 'ref/resource', uri: 'file:///{+path}' });
  expect(route('docs', ofPrompt)).toMatchObject({ server: 'db', params: { ref: { name: 'explain' } } });
  expect(serverOf('copier', ofPrompt)).toBe('permission_denied');
  expect(serverOf('docs', narrow)).toBe('copy');
  expect(serverOf('none', narrow)).toBe('permission_denied');
  const spelled = complete({ type: 'ref/resource', uri: 'FILE:///docs/{name}' });
  expect(route('docs', spelled)).toMatchObject({ params: { ref: { uri: 'file:///docs/{name}' } } });
  expect(serverOf('all', wide)).toBe('files');
  expect(serverOf('docs', wide)).toBe('permission_denied');
  const named = complete({ type: 'ref/resource', uri: 'signalbox://copy/file:///docs/{name}' });
  expect(route('docs', named)).toMatchObject({
    server: 'copy',
    params: { ref: { uri: 'file:///docs/{name}' } },
  });
  for (const ref of [{}, { type: 'ref/resource' }, { type: 'ref/prompt' }])
    expect(serverOf('all', complete(ref))).toBe('invalid_arguments');
});

test('The instructions of a server reach the roles that are shown something of it.', () => {
  const servers = (role: string, usesToolOf = (_server: string) => false) =>
    mcpContentOfRole({ mcpContent, allowlist: rules, pages: noPages }, role, usesToolOf).instructions.map(
      ({ server }) => server,
    );
  expect(servers('copier')).toEqual(['copy']);
  expect(servers('none')).toEqual([]);
  expect(servers('none', (server) => server === 'db')).toEqual(['db']);
});
