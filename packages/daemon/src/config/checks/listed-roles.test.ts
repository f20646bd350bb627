import { expect, test } from 'vitest';
import { type ListedRoles, roleWarning, strandedRoles } from './listed-roles.ts';

const roles = { researcher: { tools: [] }, writer: { tools: [] } };
const closed: ListedRoles = { roles, unlisted: 'deny', file: 'fleet.yaml' };

test('A role that is not listed is warned about, with the nearest name and what its agents may do.', () => {
  expect(roleWarning('researchr', closed)).toBe(
    "role 'researchr' is not in fleet.yaml (did you mean 'researcher'?): an agent in this role may use no tool",
  );
  expect(roleWarning('builder', closed)).toContain('it lists researcher, writer');
  expect(roleWarning('writr', { ...closed, unlisted: 'allow' })).toContain('may use every tool');
});

test('Tokens whose role is not listed are named together with their agents, also those that may issue them.', () => {
  const tokens = [
    ...['rosa', 'walt', 'rosa'].map((agent) => ({ agent, role: 'tester' })),
    { agent: 'ci-*', role: 'writer', roles: ['writer', 'builder'] },
    { agent: 'operator', role: 'operator' },
    { agent: 'chat-bridge', role: 'bridge', approves: ['writer'] },
  ];
  const warnings = strandedRoles(tokens, closed);
  expect(warnings).toHaveLength(2);
  expect(warnings[0]).toMatch(
    /^role 'tester' is not in fleet\.yaml .*; there are tokens with it for rosa, walt$/,
  );
  expect(warnings[1]).toMatch(/^role 'builder' .*; there are tokens with it for ci-\*$/);
  expect(strandedRoles(tokens, undefined)).toEqual([]);
});

test.each([
  ['a listed role', 'writer', closed],
  ['an operator', 'operator', closed],
  ['an orchestrator', 'orchestrator', closed],
  ['a configuration without roles', 'anything', { roles: {}, unlisted: 'allow' }],
  [
    'a role unlike all others where roles without an entry are allowed',
    'builder',
    { ...closed, unlisted: 'allow' },
  ],
] satisfies [string, string, ListedRoles][])('There is no warning for %s.', (_, role, listed) => {
  expect(roleWarning(role, listed)).toBe(undefined);
});
