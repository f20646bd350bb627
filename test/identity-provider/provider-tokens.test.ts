import { openJwtProvider } from '@signalbox/daemon/identity-provider';
import { lastingPort } from '@signalbox/testing';
import { describe, it } from 'vitest';
import { inSeconds, issuerKey, startIssuer } from '../support/identity-provider/issuer.ts';
import { startOidcProvider } from '../support/identity-provider/oidc-provider.ts';
import { authOf, startProvidedBroker } from '../support/identity-provider/provided-broker.ts';

describe('The token of an identity provider', () => {
  it.concurrent('gives its agent the role of our map, and can be revoked.', async ({ expect }) => {
    await using provider = await startOidcProvider();
    await using set = await startProvidedBroker(provider.issuer);
    const { broker, connect } = set;
    const token = await provider.token();
    await using rosa = await connect(token);
    expect(rosa.welcome).toMatchObject({ agent: 'rosa', role: 'writer' });
    await expect(connect(token, 'max')).rejects.toMatchObject({ code: 'forged_sender' });
    const { token: own } = await broker.issueToken({ agent: 'max', role: 'writer' });
    await using max = await connect(own, 'max');
    expect(max.welcome.role).toBe('writer');
    await using operator = await set.operator();
    const { tokens } = (await operator.admin('token_list', {})) as { tokens: { id: string }[] };
    const id = tokens.find((listed) => listed.id.startsWith('jwt:'))!.id;
    await operator.admin('token_revoke', { id });
    expect(await rosa.closed).toMatchObject({ code: 'unauthorized' });
    await expect(connect(token)).rejects.toMatchObject({ code: 'unauthorized' });
    await using renewed = await connect(await provider.token());
    expect(renewed.state.name).toBe('ready');
  });

  it.concurrent('is refused in words that name what is wrong.', async ({ expect }) => {
    await using provider = await startOidcProvider();
    await using set = await startProvidedBroker(provider.issuer);
    const cases: [string, RegExp][] = [
      [await provider.token('rosa', 'urn:other'), /audience \('aud'\)/],
      [await provider.sign({ exp: inSeconds(-90) }), /has expired/],
      [await provider.token('Rosa Smith'), /the claim 'sub' is 'Rosa Smith', which is not an agent id/],
      [await provider.token('orchestrator'), /the claim 'sub' is 'orchestrator', which is a reserved name/],
    ];
    for (const [token, problem] of cases) {
      const failure = await set.connect(token).catch((error) => error);
      expect(failure).toMatchObject({ code: 'unauthorized' });
      expect(failure.message).toMatch(problem);
    }
  });

  it.concurrent('ends its connection when it expires, and a client goes on with the one that it then has.', async ({
    expect,
  }) => {
    await using provider = await startOidcProvider();
    await using set = await startProvidedBroker(provider.issuer);
    // The skew of a minute is over in a second.
    const token = await provider.sign({ exp: inSeconds(-58) });
    const fresh = await provider.token();
    const states: string[] = [];
    await using rosa = await set.connect(token, 'rosa', { renewToken: async () => fresh });
    const back = Promise.withResolvers<void>();
    rosa.onState(({ name }) => {
      states.push(name);
      if (name === 'ready') back.resolve();
    });
    await back.promise;
    expect(states).toEqual(['reconnecting', 'ready']);
  });

  it.concurrent('may have 8 KiB and no more, and needs a broker that knows its provider.', async ({
    expect,
  }) => {
    const key = await issuerKey('ES256');
    await using issuer = await startIssuer([key]);
    await using set = await startProvidedBroker(issuer.url);
    const ofLength = async (length: number): Promise<string> => {
      const sized = (size: number) => issuer.sign(key, { padding: 'x'.repeat(size) });
      const base = (await sized(0)).length;
      const near = Math.floor(((length - base) * 3) / 4);
      for (let size = near - 4; ; size++) {
        const token = await sized(size);
        if (token.length >= length) return token;
      }
    };
    const largest = await ofLength(8191);
    expect(largest.length).toBeLessThanOrEqual(8192);
    await using rosa = await set.connect(largest);
    expect(rosa.welcome.agent).toBe('rosa');
    const refused = await set.connect(await ofLength(8193)).catch((error) => error);
    expect(refused).toMatchObject({ code: 'bad_hello', message: expect.stringContaining('token') });
    expect(await set.get('/metrics', await ofLength(8193))).toMatchObject({
      status: 401,
      text: expect.stringContaining('8 KiB are the most that a token may have'),
    });
  });
});

it('A token with the jti of another one is that one renewed, or is refused if it is for somebody else.', async ({
  expect,
}) => {
  const key = await issuerKey('ES256');
  await using issuer = await startIssuer([key]);
  await using set = await startProvidedBroker(issuer.url);
  await using _rosa = await set.connect(await issuer.sign(key, { jti: 'one' }));
  for (const claims of [{ sub: 'max' }, { groups: 'readers' }]) {
    const token = await issuer.sign(key, { jti: 'one', ...claims });
    await expect(set.connect(token, claims.sub)).rejects.toMatchObject({
      code: 'unauthorized',
      message: expect.stringContaining("another agent has one with the same 'jti'"),
    });
  }
  const exp = inSeconds(1200);
  await using renewed = await set.connect(await issuer.sign(key, { jti: 'one', exp }));
  expect(renewed.welcome.token?.expires_at).toBe((exp + 60) * 1000);
  // The earlier one ends earlier, and a revocation lasts until the later end.
  await using earlier = await set.connect(await issuer.sign(key, { jti: 'one', exp: exp - 600 }));
  expect(earlier.welcome.token?.expires_at).toBe((exp - 540) * 1000);
  await using operator = await set.operator();
  const { tokens } = await operator.admin('token_list', {});
  const listed = tokens.filter(({ id }) => id.startsWith('jwt:'));
  expect(listed).toEqual([expect.objectContaining({ expires_at: (exp + 60) * 1000 })]);
  await operator.admin('token_revoke', { id: listed[0]!.id });
  for (const { closed } of [renewed, earlier]) expect(await closed).toMatchObject({ code: 'unauthorized' });
});

it('A connection outlives 64 further tokens of its agent, of which the oldest unused ones are forgotten.', async ({
  expect,
}) => {
  const key = await issuerKey('ES256');
  await using issuer = await startIssuer([key]);
  await using set = await startProvidedBroker(issuer.url);
  await using rosa = await set.connect(await issuer.sign(key, { jti: 'first' }));
  await using operator = await set.operator();
  const known = async (): Promise<string[]> => {
    const { tokens } = (await operator.admin('token_list', {})) as { tokens: { id: string }[] };
    return tokens.flatMap(({ id }) => (id.startsWith('jwt:') ? [id] : []));
  };
  const [first] = await known();
  for (let count = 0; count < 70; count++) {
    await using _brief = await set.connect(await issuer.sign(key, { jti: `brief ${count}` }));
  }
  const ids = await known();
  expect(ids).toHaveLength(64);
  expect(ids).toContain(first);
  expect(rosa.state.name).toBe('ready');
});

it('An observer of the provider reads figures and states; an agent of it does not.', async ({ expect }) => {
  const key = await issuerKey('ES256');
  await using issuer = await startIssuer([key]);
  await using set = await startProvidedBroker(issuer.url);
  const watcher = await issuer.sign(key, { sub: 'operator.watch', groups: 'watchers' });
  expect(await set.get('/metrics', watcher)).toMatchObject({
    status: 200,
    text: expect.stringContaining('signalbox_'),
  });
  const { status, text } = await set.get('/readyz?verbose', watcher);
  expect([status, text]).toEqual([200, expect.stringContaining('[ok]   identity_provider: keys of http')]);
  expect(await set.get('/readyz?verbose', await issuer.sign(key))).toMatchObject({
    status: 403,
    text: expect.stringContaining("that of 'rosa' is neither"),
  });
  expect((await set.get('/metrics', await issuer.sign(key, { exp: 1 }))).status).toBe(401);
});

it('A broker starts without its provider and says so, its own tokens work, and it finds the keys later.', async ({
  expect,
}) => {
  const port = await lastingPort();
  const issuerUrl = `http://127.0.0.1:${port}`;
  let now = 0;
  const problems: (string | undefined)[] = [];
  const verifier = openJwtProvider(authOf(issuerUrl), {
    monotonic: () => now,
    onProblem: (problem) => problems.push(problem),
  });
  await using set = await startProvidedBroker(issuerUrl);
  await using operator = await set.operator();
  const { token } = await set.broker.issueToken({ agent: 'operator.watch', role: 'observer' });
  await expect
    .poll(() => set.get('/readyz'))
    .toEqual({ status: 200, text: expect.stringMatching(/^ok, but: identity_provider\n?$/) });
  expect((await set.get('/readyz?verbose', token)).text).toMatch(
    /\[fail\] identity_provider: the keys of .* can't be fetched: fetch failed: connect ECONNREFUSED/,
  );
  await expect.poll(() => problems).toHaveLength(1);

  await using before = await startOidcProvider(undefined, port);
  const early = await before.token();
  expect(await verifier.verify(early)).toMatchObject({ refusal: { retryAfterMs: 30_000 } });
  await expect(set.connect(early)).rejects.toMatchObject({
    code: 'token_unchecked',
    message: expect.stringContaining("the token can't be checked now"),
  });
  now += 31_000;
  expect(await verifier.verify(early)).toMatchObject({ record: { agent: 'rosa', role: 'writer' } });
  expect(verifier.check().ok).toBe(true);
  expect(problems).toEqual([expect.stringContaining('ECONNREFUSED'), undefined]);
  expect(operator.state.name).toBe('ready');
  await before[Symbol.asyncDispose]();
  // The provider now signs with another key.
  await using after = await startOidcProvider(undefined, port);
  const rotated = await after.token();
  now += 31_000;
  expect(await verifier.verify(rotated)).toMatchObject({ record: { agent: 'rosa' } });
});
