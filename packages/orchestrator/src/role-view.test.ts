import type { Inventory } from '@signalbox/mcp-host';
import type { Tool } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { RoleToolAllowlist } from './role-tool-allowlist.ts';
import { createCatalog, viewChange } from './role-view.ts';
import { admit } from './tool-refusals.ts';

const tool = (name: string, description = name): Tool => ({
  name,
  description,
  inputSchema: { type: 'object' },
});
const inventory = (version: string, tools: Tool[]): Inventory => ({ version, tools, problems: [] });
const files = RoleToolAllowlist.fromEntries([['reader', ['files_*']]]);

test('the version of a role view stays while nothing that the role sees changes', () => {
  const before = createCatalog(inventory('1', [tool('files_read'), tool('mail_send')]), files);
  const after = createCatalog(inventory('2', [tool('files_read'), tool('mail_send', 'new')]), files);
  expect(after.view('reader').version).toBe(before.view('reader').version);
  expect(after.view('other').version).not.toBe(before.view('other').version);
});

test('a change names what came, what went and what became different', () => {
  const before = createCatalog(inventory('1', [tool('a'), tool('b'), tool('c')]), files);
  const after = createCatalog(inventory('2', [tool('b', 'new'), tool('c'), tool('d')]), files);
  expect(viewChange(before.view('other'), after.view('other'))).toEqual({
    added: ['d'],
    removed: ['a'],
    changed: ['b'],
  });
});

test('a role learns nothing about tools that it may not see', () => {
  const catalog = createCatalog(inventory('1', [tool('files_read'), tool('mail_send')]), files);
  expect(admit(catalog, 'other', 'mail_send').tool?.name).toBe('mail_send');
  const hidden = admit(catalog, 'reader', 'mail_send').refusal;
  const absent = admit(catalog, 'reader', 'mail_sent').refusal;
  expect(hidden).toMatchObject({
    code: 'permission_denied',
    message: "tool 'mail_send' is not allowed for role 'reader'",
    may_have_run: false,
    hint: "The most similar tool you may call is 'files_read'.",
  });
  expect(absent).toEqual({ ...hidden, message: "tool 'mail_sent' is not allowed for role 'reader'" });
});

test('an unknown tool is answered with the nearest one that is allowed', () => {
  const catalog = createCatalog(inventory('1', [tool('files_read'), tool('files_raed2')]), files);
  const narrow = createCatalog(
    catalog.inventory,
    RoleToolAllowlist.fromEntries([['reader', ['files_read']]]),
  );
  expect(admit(catalog, 'reader', 'files_raed').refusal).toMatchObject({
    code: 'tool_not_found',
    hint: "The most similar tool you may call is 'files_raed2'.",
  });
  expect(admit(narrow, 'reader', 'files_raed').refusal?.hint).toContain("'files_read'");
  expect(admit(createCatalog(inventory('1', []), files), 'reader', 'files_read').refusal).toMatchObject({
    code: 'tool_not_found',
    hint: 'You may call no tools at present.',
  });
});
