import { createHmac } from 'node:crypto';
import { openJwtProvider } from '@signalbox/daemon/identity-provider';
import { type CryptoKey, exportSPKI, importJWK, type JWTPayload } from 'jose';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import {
  type Issuer,
  type IssuerKey,
  inSeconds,
  issuerKey,
  startIssuer,
  withoutKid,
} from '../support/identity-provider/issuer.ts';
import { authOf } from '../support/identity-provider/provided-broker.ts';

const keys: Record<string, IssuerKey> = {};
let issuer: Issuer;
let monotonic = 0;
let verifier: ReturnType<typeof openJwtProvider>;

beforeAll(async () => {
  for (const alg of ['RS256', 'ES256', 'EdDSA', 'PS256', 'ES384']) keys[alg] = await issuerKey(alg);
  issuer = await startIssuer(Object.values(keys));
  verifier = openJwtProvider(authOf(issuer.url), { monotonic: () => monotonic });
});
afterAll(() => issuer[Symbol.asyncDispose]());

async function messageOf(token: string): Promise<string> {
  const checked = await verifier.verify(token);
  return 'record' in checked ? `accepted ${checked.record.agent}` : checked.refusal.message;
}

describe('The algorithm', () => {
  it.each(['RS256', 'ES256', 'EdDSA'])('%s is accepted.', async (alg) => {
    expect(await verifier.verify(await issuer.sign(keys[alg]!))).toMatchObject({
      record: { agent: 'rosa', role: 'writer', permissions: [] },
    });
  });

  it.each(['PS256', 'ES384'])('%s is not, although the key is published.', async (alg) => {
    expect(await messageOf(await issuer.sign(keys[alg]!))).toContain(
      `its algorithm ('alg') is '${alg}', and only RS256, ES256 and EdDSA are accepted`,
    );
  });

  it('none is not, with a signature or without.', async () => {
    const [, claims, signature] = (await issuer.sign(keys.ES256!)).split('.');
    for (const alg of ['none', 'None', '']) {
      const header = Buffer.from(JSON.stringify({ alg })).toString('base64url');
      for (const end of ['', signature])
        expect(await messageOf(`${header}.${claims}.${end}`)).toContain(`('alg') is '${alg}'`);
    }
  });

  it('HS256 is not, with the public key as its secret.', async () => {
    const { jwk } = keys.RS256!;
    const secrets = [await exportSPKI((await importJWK(jwk)) as CryptoKey), jwk.n!, JSON.stringify(jwk)];
    for (const secret of secrets) {
      const [, claims] = (await issuer.sign(keys.RS256!)).split('.');
      const header = Buffer.from(JSON.stringify({ alg: 'HS256', kid: 'RS256-1' })).toString('base64url');
      const mac = createHmac('sha256', secret).update(`${header}.${claims}`).digest('base64url');
      expect(await messageOf(`${header}.${claims}.${mac}`)).toContain("('alg') is 'HS256'");
    }
  });

  it('of another key than the one that is named is not.', async () => {
    expect(await messageOf(await issuer.sign(keys.ES256!, {}, { kid: 'RS256-1' }))).toContain('kid');
    const [header, , signature] = (await issuer.sign(keys.ES256!)).split('.');
    const claims = Buffer.from(JSON.stringify({ sub: 'operator.eve' })).toString('base64url');
    expect(await messageOf(`${header}.${claims}.${signature}`)).toContain('its signature is wrong');
  });
});

const cases: [string, string, JWTPayload][] = [
  [
    'aud',
    "its audience ('aud') is 'urn:other', and auth.audience asks for 'urn:signalbox'",
    { aud: 'urn:other' },
  ],
  ['aud', "its audience ('aud') is missing", { aud: undefined as never }],
  [
    'iss',
    "its issuer ('iss') is 'https://other.example.com', and auth.issuer",
    { iss: 'https://other.example.com' },
  ],
  ['iss', "its issuer ('iss') is missing", { iss: undefined as never }],
  ['exp', "it has expired ('exp' is 20", { exp: inSeconds(-90) }],
  [
    'exp',
    "the claim 'exp' is missing; have the provider issue tokens that expire",
    { exp: undefined as never },
  ],
  ['exp', "the claim 'exp' is no time in seconds", { exp: 'soon' as never }],
  ['exp', "the claim 'exp' is no time that a clock can show", { exp: 1e300 }],
  ['nbf', "it is not valid yet ('nbf' is 20", { nbf: inSeconds(90) }],
  ['iat', "the claim 'iat' is no time in seconds", { iat: 'now' as never }],
  ['groups', "the claim 'groups' is missing", { groups: undefined }],
  ['groups', 'a token must lead to exactly one', { groups: ['writers', 'readers'] }],
  ['sub', "the claim 'sub' is 'rosa#mcp-1', which is not an agent id", { sub: 'rosa#mcp-1' }],
  ['sub', 'which is a reserved name', { sub: 'broker' }],
];

test.each(cases)('A token with a wrong %s is refused in words that say so: %s.', async (_, words, claims) => {
  expect(await messageOf(await issuer.sign(keys.ES256!, claims))).toContain(words);
});

test('Clocks may differ by a minute, and the connection ends a minute after the token.', async () => {
  const exp = inSeconds(-30);
  const late = await issuer.sign(keys.ES256!, { exp, nbf: inSeconds(30), iat: inSeconds(30) });
  const checked = await verifier.verify(late);
  expect(checked).toMatchObject({ record: { expiresAt: (exp + 60) * 1000 } });
  // A provider whose clock is ahead issues nothing in the future.
  expect('record' in checked && checked.record.createdAt).toBeLessThanOrEqual(Date.now());
});

test('The id of a token comes from its issuer and its jti, or from its text.', async () => {
  const idOf = async (claims: JWTPayload): Promise<string> => {
    const checked = await verifier.verify(await issuer.sign(keys.ES256!, claims));
    return 'record' in checked ? checked.record.id : '';
  };
  expect(await idOf({ jti: 'a' })).toMatch(/^jwt:[A-Za-z0-9_-]{43}$/);
  expect(await idOf({ jti: 'a' })).toBe(await idOf({ jti: 'a', exp: inSeconds(60) }));
  expect(await idOf({ jti: 'b' })).not.toBe(await idOf({ jti: 'a' }));
  expect(await idOf({})).not.toBe(await idOf({ exp: inSeconds(60) }));
});

test('A text that only looks like a token is refused.', async () => {
  for (const text of ['eyJ.e30.', 'eyJhbGciOiJFUzI1NiJ9.e30.AAAA', 'eyJhbGciOiJFUzI1NiJ9.bm8.AAAA'])
    expect(await messageOf(text)).toMatch(/is not accepted/);
});

test('A key that is not published, or that did not make the signature, is looked for once the keys are half a minute old, however many ask.', async () => {
  const strange = await issuerKey('ES256', 'strange');
  const token = await issuer.sign(strange);
  const forged = await issuer.sign(strange, {}, { kid: keys.ES256!.kid });
  const flood = () =>
    Promise.all(Array.from({ length: 200 }, (_, at) => verifier.verify(at % 2 === 0 ? token : forged)));
  const before = issuer.requests.length;
  monotonic += 1000;
  const early = await flood();
  expect(issuer.requests).toHaveLength(before);
  for (const checked of early) expect(checked).toMatchObject({ refusal: { retryAfterMs: 29_000 } });
  monotonic += 31_000;
  const [late, wrong] = await flood();
  expect(issuer.requests).toHaveLength(before + 2);
  expect(late).toEqual({
    refusal: { message: expect.stringContaining("signed with the key 'strange' ('kid') that http://127") },
  });
  expect(wrong).toEqual({ refusal: { message: expect.stringContaining('its signature is wrong') } });
  // The provider takes another key into use.
  issuer.published.push(strange.jwk);
  monotonic += 1000;
  expect(await verifier.verify(token)).toMatchObject({ refusal: { retryAfterMs: 29_000 } });
  monotonic += 31_000;
  expect(await verifier.verify(token)).toMatchObject({ record: { agent: 'rosa' } });
});

test('Tokens with a known key are checked while an issuer that hangs is asked for others.', async () => {
  monotonic += 31_000;
  const answers = Promise.withResolvers<void>();
  issuer.answersAfter = answers.promise;
  const strange = await issuer.sign(await issuerKey('ES256', 'stranger'));
  const forged = await issuer.sign(await issuerKey('ES256'));
  const held = Array.from({ length: 20 }, (_, at) => verifier.verify(at % 2 === 0 ? strange : forged));
  expect(await verifier.verify(await issuer.sign(keys.ES256!))).toMatchObject({ record: { agent: 'rosa' } });
  answers.resolve();
  for (const checked of await Promise.all(held)) expect(checked).toHaveProperty('refusal');
});

test.each([
  ['under the same kid', ({ jwk }: IssuerKey) => jwk],
  ['and names no kid', withoutKid],
])(
  'A key that takes the place of another one %s is found with the first token that is signed with it.',
  async (_, published) => {
    const place = issuer.published.length;
    const [before, after] = [await issuerKey('ES256', 'same'), await issuerKey('ES256', 'same')];
    const publish = (key: IssuerKey): unknown => issuer.published.splice(place, 1, published(key));
    const { kid } = published(before);
    publish(before);
    monotonic += 31_000;
    const first = await issuer.sign(before, {}, { kid });
    expect(await verifier.verify(first)).toMatchObject({ record: { agent: 'rosa' } });
    publish(after);
    monotonic += 1000;
    const second = await issuer.sign(after, {}, { kid });
    expect(await verifier.verify(second)).toEqual({
      refusal: {
        message: expect.stringMatching(/can't be checked now: none of the known keys .* again in 29 s/),
        retryAfterMs: 29_000,
      },
    });
    monotonic += 29_000;
    expect(await verifier.verify(second)).toMatchObject({ record: { agent: 'rosa' } });
    expect(await messageOf(first)).toContain('its signature is wrong');
  },
);

test('A token without kid is tried with 16 keys that fit it, and refused if there are more.', async () => {
  const unnamed = await Promise.all(Array.from({ length: 17 }, () => issuerKey('ES256')));
  const publish = (count: number): void => {
    issuer.published = unnamed.slice(0, count).map(withoutKid);
    monotonic += 31_000;
  };
  publish(16);
  for (const key of [unnamed[15]!, unnamed[0]!]) {
    const token = await issuer.sign(key, {}, { kid: undefined });
    expect(await verifier.verify(token)).toMatchObject({ record: { agent: 'rosa' } });
  }
  publish(17);
  const last = await issuer.sign(unnamed[16]!, {}, { kid: undefined });
  expect(await messageOf(last)).toContain("have the provider name its key ('kid')");
});
