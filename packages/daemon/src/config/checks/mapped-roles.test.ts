import { expect, test } from 'vitest';
import { builtInConfig } from '../config.ts';
import { unknownMappedRoles } from './mapped-roles.ts';

const provider = {
  issuer: 'https://login.example.com',
  audience: 'signalbox',
  agentClaim: 'sub',
  roleClaim: 'groups',
};

test('A role that the identity provider leads to, and that has no entry while others have one, is named.', () => {
  const auth = { ...provider, roles: { readers: 'reader', writers: 'wirter', bosses: 'operator' } };
  const roles = { reader: { tools: [] }, writer: { tools: [] } };
  expect(unknownMappedRoles({ ...builtInConfig(), auth, roles }, '(config)')).toEqual([
    "(config): auth.roles.writers: the role 'wirter' has no entry in roles (did you mean 'writer'?), so that its agents may use no tools",
  ]);
  expect(unknownMappedRoles({ ...builtInConfig(), auth }, '(config)')).toEqual([]);
});
