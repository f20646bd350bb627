import { expect, test } from 'vitest';
import { configSchema } from './config-schema.ts';

const auth = { issuer: 'https://login.example.com', audience: 'signalbox', roleClaim: 'groups' };

function problemsOf(entry: object): string[] {
  const { error } = configSchema.safeParse({ auth: { ...auth, ...entry } });
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

test('A role of operators and its permission are given by the same value, and minting goes with any other role.', () => {
  expect(
    problemsOf({ roles: { a: 'operator', b: 'writer' }, permissions: { a: 'operator', b: 'mint' } }),
  ).toEqual([]);
  expect(problemsOf({ roles: { b: 'writer' }, permissions: { runners: 'mint' } })).toEqual([]);
  expect(problemsOf({ roles: { a: 'operator' } })).toEqual([
    "auth.roles.a: the role 'operator' needs auth.permissions: { a: operator }",
  ]);
  expect(problemsOf({ roles: { a: 'observer' }, permissions: { a: 'operator' } })).toEqual([
    "auth.roles.a: the role 'observer' needs auth.permissions: { a: observer }",
    "auth.permissions.a: the permission 'operator' goes only with auth.roles: { a: operator }",
  ]);
  expect(problemsOf({ roles: { b: 'writer' }, permissions: { b: 'observer' } })).toEqual([
    "auth.permissions.b: the permission 'observer' goes only with auth.roles: { b: observer }",
  ]);
});

test('An issuer is reached over https, and over http on this machine only.', () => {
  for (const issuer of ['https://login.example.com/realms/a', 'http://127.0.0.1:8080', 'http://localhost'])
    expect(problemsOf({ issuer, roles: {} })).toEqual([]);
  for (const issuer of ['http://login.example.com', 'login.example.com', 'file:///etc/passwd'])
    expect(problemsOf({ issuer, roles: {} })).toEqual([
      'auth.issuer: must be an https:// URL, as in https://login.example.com',
    ]);
});
