import { expect, test } from 'vitest';
import { McpContentAllowlist } from './mcp-content-allowlist.ts';

const origin = { server: 'files', tool: 'summary' };
const name = 'mcp_files__summary';
const docs = McpContentAllowlist.fromEntries([
  ['reader', { resources: ['files:file:///srv/docs/*'] }],
  ['writer', { prompts: ['mcp_files__*', 'mail:draft'] }],
  ['mute', {}],
]);

test('What an entry leaves out is none; a role without an entry may use everything only if nothing else is said.', () => {
  expect(docs.kinds('reader')).toEqual({ resources: true });
  expect(docs.kinds('writer')).toEqual({ prompts: true });
  expect(docs.kinds('mute')).toEqual({});
  expect(docs.kinds('other')).toEqual({ prompts: true, resources: true });
  const strict = McpContentAllowlist.fromEntries([['reader', {}]], { unlisted: 'deny' });
  expect(strict.kinds('other')).toEqual({});
  expect(strict.allowsResource('other', 'files', 'file:///a')).toBe(false);
  expect(docs.allowsResource('other', 'files', 'file:///a')).toBe(true);
  expect(McpContentAllowlist.unrestricted().allowsPrompt('any', name, origin)).toBe(true);
});

test('An observer uses nothing, even if its entry names everything.', () => {
  const all = McpContentAllowlist.unrestricted().withRole('observer', { prompts: ['*'], resources: ['*:*'] });
  expect(all.kinds('observer')).toEqual({});
  expect(all.explainPrompt('observer', name, origin)).toEqual({
    allowed: false,
    rule: 'an observer uses nothing',
  });
});

test('A resource is allowed by its server and its URI together.', () => {
  expect(docs.allowsResource('reader', 'files', 'file:///srv/docs/a.md')).toBe(true);
  expect(docs.allowsResource('reader', 'mail', 'file:///srv/docs/a.md')).toBe(false);
  expect(docs.allowsResource('reader', 'files', 'file:///srv/secret')).toBe(false);
  expect(docs.explainResource('reader', 'files', 'file:///srv/docs/a.md').rule).toBe(
    "roles.reader.resources: 'files:file:///srv/docs/*'",
  );
  expect(docs.explainResource('writer', 'files', 'file:///srv/docs/a.md')).toEqual({
    allowed: false,
    rule: 'roles.writer.resources: none',
  });
});

test('A template is allowed if all that it can make is.', () => {
  expect(docs.allowsTemplate('reader', 'files', 'file:///srv/docs/{+path}')).toBe(true);
  expect(docs.allowsTemplate('reader', 'files', 'file:///{+path}')).toBe(false);
});

test('A prompt is allowed by the name that it is shown under, or by its server and own name.', () => {
  expect(docs.allowsPrompt('writer', name, origin)).toBe(true);
  expect(docs.allowsPrompt('writer', 'mcp_mail__draft', { server: 'mail', tool: 'draft' })).toBe(true);
  expect(docs.allowsPrompt('writer', 'mcp_mail__send', { server: 'mail', tool: 'send' })).toBe(false);
  expect(docs.allowsPrompt('reader', name, origin)).toBe(false);
});
