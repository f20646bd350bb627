import type { Tool } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { allowlistWarnings } from './allowlist-warnings.ts';
import { RoleToolAllowlist } from './role-tool-allowlist.ts';

const tool = (name: string): Tool => ({ name, inputSchema: { type: 'object' } });

test('a role may use exactly what its entry names', () => {
  const allowlist = RoleToolAllowlist.fromEntries([['reviewer', ['mcp_files__read', 'mcp_github__*']]]);
  expect(allowlist.allows('reviewer', 'mcp_files__read')).toBe(true);
  expect(allowlist.allows('reviewer', 'mcp_github__search')).toBe(true);
  expect(allowlist.allows('reviewer', 'mcp_files__write')).toBe(false);
  expect(allowlist.isRestricted('reviewer')).toBe(true);
});

test('an empty entry locks the role out', () => {
  const allowlist = RoleToolAllowlist.fromEntries([['guest', []]]);
  expect(allowlist.allows('guest', 'mcp_files__read')).toBe(false);
  expect(allowlist.allows('other', 'mcp_files__read')).toBe(true);
});

test('a role without an entry, or no role, may use everything unless unlisted roles are denied', () => {
  const open = RoleToolAllowlist.fromEntries([['guest', []]]);
  expect([open.allows('builder', 'x'), open.allows(undefined, 'x')]).toEqual([true, true]);
  expect([open.isRestricted('builder'), open.isRestricted(undefined)]).toEqual([false, false]);
  const closed = RoleToolAllowlist.fromEntries([['guest', ['x']]], { unlisted: 'deny' });
  expect([closed.allows('builder', 'x'), closed.allows(undefined, 'x')]).toEqual([false, false]);
  expect([closed.isRestricted('builder'), closed.isRestricted(undefined)]).toEqual([true, true]);
  expect(closed.allows('guest', 'x')).toBe(true);
});

test('an observer uses no tool, even if its entry names all', () => {
  const open = RoleToolAllowlist.unrestricted();
  for (const allowlist of [open, open.withRole('observer', ['*'])]) {
    expect(allowlist.allows('observer', 'x')).toBe(false);
    expect(allowlist.explain('observer', 'x')).toEqual({ allowed: false, rule: 'an observer uses no tool' });
  }
});

test('adding a role leaves the original as it was', () => {
  const before = RoleToolAllowlist.unrestricted();
  const after = before.withRole('guest', []);
  expect(before.allows('guest', 'x')).toBe(true);
  expect(after.allows('guest', 'x')).toBe(false);
});

test('changing the list an allowlist was made from changes nothing in it', () => {
  const patterns = ['x'];
  const allowlist = RoleToolAllowlist.fromEntries([['guest', patterns]]);
  patterns.push('*');
  expect(allowlist.allows('guest', 'y')).toBe(false);
});

test('role names of the language itself are ordinary roles', () => {
  const allowlist = RoleToolAllowlist.fromEntries([['guest', []]], { unlisted: 'deny' });
  expect(allowlist.allows('__proto__', 'x')).toBe(false);
  expect(allowlist.withRole('__proto__', ['x']).allows('__proto__', 'x')).toBe(true);
});

test('the manifest of a role keeps the order and the whole of each allowed tool', () => {
  const tools = [tool('b'), { ...tool('a'), _meta: { kept: 1 } }, tool('c')];
  const allowlist = RoleToolAllowlist.fromEntries([['guest', ['a', 'b']]]);
  expect(allowlist.filterManifest('guest', tools)).toEqual([tools[0], tools[1]]);
});

test.each([
  ['reader', 'mcp_files__read', { allowed: true, rule: "roles.reader.tools: 'mcp_files__*'" }],
  ['reader', 'mcp_mail__send', { allowed: false, rule: 'roles.reader.tools: no pattern matches' }],
  ['guest', 'mcp_files__read', { allowed: false, rule: 'roles.guest.tools: empty list' }],
  ['builder', 'mcp_files__read', { allowed: false, rule: "unlisted: deny; roles has no 'builder'" }],
  [
    'raeder',
    'mcp_files__read',
    { allowed: false, rule: "unlisted: deny; roles has no 'raeder' (did you mean 'reader'?)" },
  ],
  [undefined, 'mcp_files__read', { allowed: false, rule: 'unlisted: deny' }],
])('for the role %s and the tool %s it names the rule that decided', (role, name, rule) => {
  const entries = [
    ['reader', ['mcp_files__*', 'mcp_files__read']],
    ['guest', []],
  ] as const;
  const allowlist = RoleToolAllowlist.fromEntries(entries, { unlisted: 'deny' });
  expect(allowlist.explain(role, name)).toEqual(rule);
  expect(allowlist.allows(role, name)).toBe(rule.allowed);
  expect(RoleToolAllowlist.unrestricted().explain(role, name)).toEqual({
    allowed: true,
    rule: 'unlisted: allow',
  });
});

test('patterns that match no tool and roles that no token has are warned about with the nearest name', () => {
  const allowlist = RoleToolAllowlist.fromEntries([
    ['reviewer', ['mcp_files__raed', 'mcp_files__*']],
    ['revewer', ['mcp_files__read']],
  ]);
  const warnings = allowlistWarnings(allowlist, { tools: ['mcp_files__read'], roles: ['reviewer'] });
  expect(warnings).toEqual([
    {
      role: 'reviewer',
      pattern: 'mcp_files__raed',
      kind: 'tool',
      nearest: 'mcp_files__read',
      message:
        "role 'reviewer': 'mcp_files__raed' matches no tool; the most similar tool is 'mcp_files__read'",
    },
    {
      role: 'revewer',
      nearest: 'reviewer',
      message: "no token has the role 'revewer'; the most similar role is 'reviewer'",
    },
  ]);
  expect(allowlistWarnings(allowlist, { tools: [] })[0]?.message).toContain('no tools are known');
});

test('lists of what may be repeated and budgets are checked in the same way', () => {
  const tools = ['mcp_files__read', 'mcp_files__write'];
  const budget = { calls: 1, windowMs: 1 };
  const warnings = allowlistWarnings(
    RoleToolAllowlist.unrestricted(),
    { tools, roles: ['reviewer'] },
    {
      repeat: { safe: ['mcp_files__*', 'mcp_files__wirte'], never: ['mcp_file_read'] },
      budgets: { roles: { reviewer: budget, revewer: budget }, perRole: { revewer: budget } },
    },
  );
  expect(warnings).toEqual([
    {
      pattern: 'mcp_files__wirte',
      kind: 'tool',
      nearest: 'mcp_files__write',
      message:
        "safeToRepeat: 'mcp_files__wirte' matches no tool; the most similar tool is 'mcp_files__write'",
    },
    {
      pattern: 'mcp_file_read',
      kind: 'tool',
      nearest: 'mcp_files__read',
      message: "neverRepeat: 'mcp_file_read' matches no tool; the most similar tool is 'mcp_files__read'",
    },
    {
      role: 'revewer',
      nearest: 'reviewer',
      message: "the role 'revewer' has a budget, but no token has it; the most similar role is 'reviewer'",
    },
  ]);
});
