import { expect, it } from 'vitest';
import { bearerChallenge, insufficientScope, isAboutScope } from './challenge.ts';

it('reads the Bearer challenge wherever it stands among others', () => {
  expect(bearerChallenge('Bearer realm="a, b", error=invalid_token')).toEqual({
    realm: 'a, b',
    error: 'invalid_token',
  });
  expect(
    bearerChallenge('Basic realm="x", BEARER Scope = "a \\"b\\"" , resource_metadata="https://h/m"'),
  ).toEqual({
    scope: 'a "b"',
    resource_metadata: 'https://h/m',
  });
  expect(bearerChallenge('Bearer')).toEqual({});
});

it('finds no Bearer challenge where there is none', () => {
  for (const header of [null, '', 'Basic realm="Bearer x=y"', 'NotBearer a="b"']) {
    expect(bearerChallenge(header)).toBeUndefined();
  }
});

it('tells a missing scope from other refusals', () => {
  const error = insufficientScope('Bearer error="insufficient_scope", scope="files:write"');
  expect(error).toMatchObject({ code: 'auth_failed', message: expect.stringContaining("'files:write'") });
  expect(isAboutScope(error!)).toBe(true);
  expect(insufficientScope('Bearer error="invalid_token"')).toBeUndefined();
  expect(insufficientScope(null)).toBeUndefined();
});
