import type { Inventory } from '@signalbox/mcp-host';
import type { Tool } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { admit, maySeeReply } from '../calls/tool-refusals.ts';
import { wholePolicy } from '../operator/policy.ts';
import { RoleToolAllowlist } from '../roles/role-tool-allowlist.ts';
import { createCatalog, type RoleView, viewChange } from './catalog.ts';
import { ManifestAnnouncements } from './manifest-announcement.ts';

const tool = (name: string, description = name): Tool => ({
  name,
  description,
  inputSchema: { type: 'object' },
});
const inventory = (version: string, tools: Tool[], hidden: Tool[] = []): Inventory => ({
  version,
  tools,
  hidden,
  changed: new Map(),
  sent: new Map(),
  mcpContent: { prompts: [], resources: [], templates: [], instructions: [], servers: [], untold: [] },
  origins: new Map(),
  renamed: [],
  unprefixed: [],
  problems: [],
});
const files = wholePolicy({ allowlist: RoleToolAllowlist.fromEntries([['reader', ['files_*']]]) });

test('the version of a role view stays while nothing that the role sees changes', () => {
  const before = createCatalog(inventory('1', [tool('files_read'), tool('mail_send')]), files);
  const after = createCatalog(inventory('2', [tool('files_read'), tool('mail_send', 'new')]), files);
  expect(after.view('reader').version).toBe(before.view('reader').version);
  expect(after.view('other').version).not.toBe(before.view('other').version);
});

test('what a role sees of its mailbox is part of its version, and of no other role’s', () => {
  const all = createCatalog(inventory('1', [tool('a')]), files);
  const none = createCatalog(inventory('1', [tool('a')]), { ...files, mailbox: { mute: { tools: false } } });
  const some = createCatalog(inventory('1', [tool('a')]), {
    ...files,
    mailbox: { mute: { tools: ['signalbox_reply'] } },
  });
  const told = createCatalog(inventory('1', [tool('a')]), {
    ...files,
    mailbox: { mute: { unreadHint: 'meta' } },
  });
  const catalogs = [all, none, some, told];
  expect(catalogs.map((catalog) => catalog.view('mute').mailbox)).toEqual([
    {},
    { tools: false },
    { tools: ['signalbox_reply'] },
    { unreadHint: 'meta' },
  ]);
  expect(new Set(catalogs.map((catalog) => catalog.view('mute').version)).size).toBe(4);
  expect(new Set(catalogs.map((catalog) => catalog.view('other').version)).size).toBe(1);
  expect(none.view('constructor').mailbox).toEqual({});
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
    hint: 'No tool that you may call has a similar name.',
  });
  expect(absent).toEqual({ ...hidden, message: "tool 'mail_sent' is not allowed for role 'reader'" });
});

test('an unknown tool is answered with the nearest one that is allowed', () => {
  const catalog = createCatalog(inventory('1', [tool('files_read'), tool('files_raed2')]), files);
  const narrow = createCatalog(
    catalog.inventory,
    wholePolicy({ allowlist: RoleToolAllowlist.fromEntries([['reader', ['files_read']]]) }),
  );
  expect(admit(catalog, 'reader', 'files_raed').refusal).toMatchObject({
    code: 'tool_not_found',
    hint: "The most similar tool you may call is 'files_raed2'.",
  });
  expect(admit(narrow, 'reader', 'files_raed').refusal?.hint).toContain("'files_read'");
  const prefixed = createCatalog(
    inventory('1', [tool('mcp_files__edit_file'), tool('mcp_files__read_text_file')]),
    files,
  );
  for (const name of ['read_text_file', 'files:read_text_file'])
    expect(admit(prefixed, 'other', name).refusal?.hint).toContain("'mcp_files__read_text_file'");
  expect(admit(createCatalog(inventory('1', []), files), 'reader', 'files_read').refusal).toMatchObject({
    code: 'tool_not_found',
    hint: 'You may call no tools at present.',
  });
});

test('a hidden tool may be called by its exact name where the allowlist says so, and is seen nowhere', async () => {
  const before = createCatalog(inventory('1', [tool('files_read')]), files);
  const hidden = [tool('files_secret'), tool('mail_secret')];
  const catalog = createCatalog(inventory('2', [tool('files_read')], hidden), files);
  expect(admit(catalog, 'reader', 'files_secret').tool?.name).toBe('files_secret');
  expect(admit(catalog, 'reader', 'mail_secret').refusal).toMatchObject({
    code: 'permission_denied',
    hint: 'No tool that you may call has a similar name.',
  });
  expect(admit(catalog, 'other', 'mail_secre').refusal?.hint).toBe(
    'No tool that you may call has a similar name.',
  );
  for (const view of [catalog.view('reader'), catalog.view('other'), catalog.everything()]) {
    expect(view.tools.map(({ name }) => name)).toEqual(['files_read']);
    expect(view.find('files_secret')).toBeUndefined();
    expect(await view.search('secret', 10)).toEqual([]);
  }
  expect(before.view('other').hasUnlisted).toBe(false);
  expect(catalog.view('other').hasUnlisted).toBe(true);
  const more = createCatalog(inventory('3', [tool('files_read')], [...hidden, tool('other')]), files);
  expect(more.view('other').version).toBe(catalog.view('other').version);
});

test('a search finds only what its view holds', async () => {
  const catalog = createCatalog(inventory('1', [tool('files_read'), tool('mail_read')]), files);
  const found = async (view: RoleView) => (await view.search('read', 10)).map((one) => one.tool.name);
  expect(await found(catalog.view('reader'))).toEqual(['files_read']);
  expect(await found(catalog.everything())).toEqual(['files_read', 'mail_read']);
});

test('a tool of a server that has not come up yet is unreachable, not unknown', () => {
  const problems = [{ server: 'Far.Away', message: 'not available: it has not started yet' }];
  const shown = inventory('1', [tool('mcp_files__read')]);
  const everything = wholePolicy({
    allowlist: RoleToolAllowlist.fromEntries([['reader', ['mcp_files__*']]]),
  });
  const catalog = createCatalog({ ...shown, problems }, everything);
  expect(admit(catalog, 'other', 'mcp_far_away__look').refusal).toMatchObject({
    code: 'mcp_server_unreachable',
    retryable: true,
    may_have_run: false,
  });
  expect(admit(catalog, 'reader', 'mcp_far_away__look').refusal?.code).toBe('permission_denied');
  // Only a listed tool has annotations. Until then nobody else's reply is shown, either.
  const byAnnotations = wholePolicy({
    allowlist: RoleToolAllowlist.fromEntries([['reader', ['mcp_files__*', { annotations: 'readOnly' }]]]),
  });
  const later = createCatalog({ ...shown, problems }, byAnnotations);
  expect(admit(later, 'reader', 'mcp_far_away__look')).toMatchObject({
    refusal: { code: 'mcp_server_unreachable' },
    isForbidden: true,
  });
  expect(maySeeReply(later, 'reader', { role: 'other', tool: 'mcp_far_away__look' })).toBe(false);
  expect(admit(later, 'reader', 'mcp_nowhere__look').refusal?.code).toBe('permission_denied');
  for (const [name, inventoryThen] of [
    ['mcp_near__look', { ...shown, problems }],
    ['mcp_files__lok', { ...shown, problems: [{ server: 'files', message: 'its list is old' }] }],
    ['mcp_files2__x', { ...shown, problems: [{ server: 'files2', tool: 'y', message: 'left out' }] }],
  ] as const) {
    const then = createCatalog({ ...inventoryThen, problems: [...inventoryThen.problems] }, everything);
    expect(admit(then, 'other', name).refusal?.code).toBe('tool_not_found');
  }
});

test('a list that keeps changing delays no other list of its server', () => {
  const announced: string[] = [];
  const announcements = new ManifestAnnouncements(
    (_before, { inventory: { version } }) => announced.push(version),
    () => 0,
  );
  const show = (shown: Inventory) =>
    announcements.inventoryChanged({ inventory: shown, catalog: createCatalog(shown, files) });
  for (const version of ['0', '1', '2', '3', '4']) show(inventory(version, [tool('files_read', version)]));
  expect(announced).toEqual(['0', '1', '2', '3']);
  const { mcpContent, ...same } = inventory('5', [tool('files_read', '4')]);
  show({
    ...same,
    mcpContent: {
      ...mcpContent,
      prompts: [{ server: '', own: 'new', prompt: { name: 'new' }, isHidden: false }],
    },
  });
  expect(announced.at(-1)).toBe('5');
  announcements.stop();
});
