import { describe, expect, it, test } from 'vitest';
import type { AuthEntry } from '../config/index.ts';
import { identityOf } from './claims.ts';

const auth: AuthEntry = {
  issuer: 'https://login.example.com',
  audience: 'signalbox',
  agentClaim: 'sub',
  roleClaim: 'groups',
  roles: {
    writers: 'writer',
    editors: 'writer',
    readers: 'reader',
    admins: 'operator',
    watchers: 'observer',
  },
  permissions: { admins: 'operator', watchers: 'observer', runners: 'mint' },
};

const refusalOf = (claims: Record<string, unknown>, entry: Partial<AuthEntry> = {}): string => {
  const identity = identityOf(claims, { ...auth, ...entry });
  return 'refusal' in identity ? identity.refusal : `accepted ${JSON.stringify(identity)}`;
};

describe('The role claim', () => {
  it.each<[unknown, string]>([
    ['writers', 'writer'],
    [['writers', 'guests', 'editors', 7], 'writer'],
  ])('%j leads to one role without a permission.', (groups, role) => {
    expect(identityOf({ sub: 'rosa', groups }, auth)).toEqual({ agent: 'rosa', role, permissions: [] });
  });

  it.each<[unknown, string]>([
    [undefined, "'groups' is missing"],
    [[], "'groups' is missing"],
    [7, "'groups' is missing, or no text"],
    [{ writers: true }, "'groups' is missing, or no text"],
    ['writer', "'groups' holds 'writer', and auth.roles maps none"],
    ['operator', 'maps none of it to a role'],
    ['constructor', 'maps none of it to a role'],
    ['writers readers', 'maps none of it to a role'],
    [['writers', 'readers'], "to several roles, 'writer', 'reader'; a token must lead to exactly one"],
    ['a\u001b[2Jb', "holds 'a [2Jb'"],
  ])('%j is refused.', (groups, words) => {
    expect(refusalOf({ sub: 'rosa', groups })).toContain(words);
  });

  it('may lie inside another claim, have dots in its name, or be a scope.', () => {
    const nested = { sub: 'rosa', realm_access: { roles: ['writers'] } };
    expect(identityOf(nested, { ...auth, roleClaim: 'realm_access.roles' })).toMatchObject({
      role: 'writer',
    });
    const named = { sub: 'rosa', 'https://example.com/roles': 'writers', https: { '//example': 'readers' } };
    expect(identityOf(named, { ...auth, roleClaim: 'https://example.com/roles' })).toMatchObject({
      role: 'writer',
    });
    const scoped = { sub: 'rosa', scope: 'openid writers' };
    expect(identityOf(scoped, { ...auth, roleClaim: 'scope' })).toMatchObject({ role: 'writer' });
    expect(refusalOf({ sub: 'rosa' }, { roleClaim: 'toString.name' })).toContain('is missing');
  });
});

describe('A permission', () => {
  it.each<[string, unknown, object]>([
    ['operator.ann', 'admins', { agent: 'operator.ann', role: 'operator', permissions: ['operator'] }],
    ['operator.prom', 'watchers', { role: 'observer', permissions: ['observer'] }],
    ['ci-*', ['writers', 'runners'], { agent: 'ci-*', role: 'writer', permissions: ['mint'] }],
  ])('of %s comes from auth.permissions.', (sub, groups, identity) => {
    expect(identityOf({ sub, groups }, auth)).toMatchObject(identity);
  });

  it('is never there without it, even if claims have its name.', () => {
    const claims = {
      sub: 'operator.ann',
      groups: 'admins',
      permissions: ['operator', 'mint'],
      role: 'operator',
    };
    for (const permissions of [undefined, {}, { admins: 'mint' }, { others: 'operator' }] as const) {
      expect(refusalOf(claims, { permissions })).toContain("without the permission 'operator'");
    }
    expect(identityOf({ ...claims, sub: 'rosa', groups: 'writers' }, auth)).toMatchObject({
      permissions: [],
    });
  });

  it('is one only.', () => {
    const both = { sub: 'operator.*', groups: ['admins', 'runners'] };
    expect(refusalOf(both)).toContain("to 'operator' and to 'mint'; a token has one of them");
  });
});

test.each<[unknown, string, unknown]>([
  [undefined, "'sub', which names the agent, is missing", 'writers'],
  [7, 'is no text', 'writers'],
  [['rosa'], 'is no text', 'writers'],
  ['', 'is not an agent id', 'writers'],
  ['Rosa', "is 'Rosa', which is not an agent id", 'writers'],
  ['rosa#mcp-1', "is 'rosa#mcp-1', which is not an agent id", 'writers'],
  ['ci-*', 'is not an agent id', 'writers'],
  ['auth0|1234', 'is not an agent id', 'writers'],
  ['r'.repeat(129), 'is not an agent id', 'writers'],
  ['ci-1', 'which is not the pattern of a minting token', ['writers', 'runners']],
  ['*', 'which is not the pattern of a minting token', ['writers', 'runners']],
  ['orchestrator', 'which is a reserved name', 'writers'],
  ['hu-man', 'which is a reserved name', 'writers'],
  ['operator.ann', 'which is a reserved name', 'writers'],
  ['broker*', 'which is a reserved name', ['writers', 'runners']],
  ['operator', "must be like 'operator.alice'", 'admins'],
  ['rosa', "must be like 'operator.alice'", 'watchers'],
])('The agent claim %j is refused: %s.', (sub, words, groups) => {
  expect(refusalOf({ ...(sub !== undefined && { sub }), groups })).toContain(words);
});
