import { expect, test } from 'vitest';
import { type ListedRoles, roleWarning } from './role-warning.ts';

const roles = { researcher: { tools: [] }, writer: { tools: [] } };
const closed: ListedRoles = { roles, unlisted: 'deny', file: 'fleet.yaml' };

test('A role that is not listed is warned about, with the nearest name and what its agents may do.', () => {
  expect(roleWarning('researchr', closed)).toBe(
    "role 'researchr' is not in fleet.yaml (did you mean 'researcher'?): an agent in this role may use no tool",
  );
  expect(roleWarning('builder', closed)).toContain('it lists researcher, writer');
  expect(roleWarning('writr', { ...closed, unlisted: 'allow' })).toContain('may use every tool');
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
