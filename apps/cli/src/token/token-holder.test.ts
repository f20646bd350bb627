import { expect, test } from 'vitest';
import { type HolderFlags, holderOf } from './token-holder.ts';

const given: HolderFlags = { permissions: 'operator' };

test('A token is for an agent in a role, or for an operator by name.', () => {
  expect(holderOf({ ...given, agent: 'a-1', role: 'worker' })).toEqual({ agent: 'a-1', role: 'worker' });
  const roles = ['tester', 'writer'];
  expect(holderOf({ ...given, agent: 'ci-*', roles })).toEqual({ agent: 'ci-*', role: 'tester', roles });
  expect(holderOf({ ...given, agent: 'ci-*', role: 'writer', roles })).toMatchObject({ role: 'writer' });
  expect(holderOf({ ...given, operator: true, name: 'alice' })).toEqual({
    agent: 'operator.alice',
    role: 'operator',
  });
  expect(holderOf({ operator: true, name: 'metrics', permissions: 'observer' })).toEqual({
    agent: 'operator.metrics',
    role: 'observer',
  });
});

test.each<[HolderFlags, string]>([
  [{ ...given }, "option '--agent <name>' is missing"],
  [{ ...given, agent: 'a-1', roles: ['w'] }, "--roles is for a token that makes others, and 'a-1' names one"],
  [{ ...given, agent: 'a-1' }, "option '--role <role>' is missing"],
  [{ ...given, agent: 'a-1', role: 'w', name: 'alice' }, 'go only with --operator'],
  [{ agent: 'a-1', role: 'w', permissions: 'observer' }, 'go only with --operator'],
  [{ ...given, operator: true }, "option '--name <name>' is missing"],
  [{ ...given, operator: true, name: 'alice', role: 'w' }, 'do not go with --operator'],
  [{ ...given, operator: true, name: 'a.b' }, "'a.b' is no name"],
])('The options %j are refused: %s.', (flags, message) => {
  expect(() => holderOf(flags)).toThrow(message);
});
