import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type BrokerClient, connectBroker } from '@signalbox/client';
import { checkConfigText } from '@signalbox/config';
import { runBroker } from '@signalbox/daemon/broker';
import { openJwtProvider } from '@signalbox/daemon/identity-provider';
import { lastingPort, tempDir } from '@signalbox/testing';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import Provider from 'oidc-provider';
import { describe, it } from 'vitest';

const audience = 'urn:signalbox';

/** A provider whose client `rosa` gets a JWT with these claims, and whose keys the test has, too. */
async function startProvider(claims: Record<string, unknown> = { groups: ['writers'] }, given = 0) {
  const server = createServer();
  server.listen(given, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const kid = crypto.randomUUID();
  const jwk = { ...(await exportJWK(privateKey)), kid, alg: 'ES256', use: 'sig' };
  const provider = new Provider(issuer, {
    clients: ['rosa', 'Rosa Smith', 'orchestrator'].map((client_id) => ({
      client_id,
      client_secret: 'secret',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    })),
    cookies: { keys: ['cookie-key'] },
    jwks: { keys: [jwk] },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    extraTokenClaims: () => claims,
    ttl: { ClientCredentials: 600 },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_ctx, resource) => ({
          audience: resource,
          scope: 'tools',
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  });
  const requests: string[] = [];
  const handle = provider.callback();
  server.on('request', (request, response) => {
    requests.push(request.url ?? '');
    handle(request, response);
  });
  return {
    issuer,
    port,
    requests,
    async token(client = 'rosa', resource = audience): Promise<string> {
      const response = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(`${encodeURIComponent(client)}:secret`).toString('base64')}`,
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource, scope: 'tools' }),
      });
      const answer = (await response.json()) as { access_token?: string };
      if (answer.access_token === undefined) throw new Error(JSON.stringify(answer));
      return answer.access_token;
    },
    /** Signs claims with the provider's key. */
    sign: (more: JWTPayload) =>
      new SignJWT({ iss: issuer, aud: audience, sub: 'rosa', groups: 'writers', ...more })
        .setProtectedHeader({ alg: 'ES256', kid })
        .sign(privateKey),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function startBroker(issuer: string) {
  await using opening = new AsyncDisposableStack();
  const { path } = opening.use(await tempDir());
  const auth = { issuer, audience, roleClaim: 'groups', roles: { writers: 'writer', readers: 'reader' } };
  const text = JSON.stringify({ broker: { listen: '127.0.0.1:0', data: 'data' }, auth });
  const config = await checkConfigText(text, join(path, 'signalbox.yaml'));
  const broker = opening.use(await runBroker({ config }));
  const resources = opening.move();
  return {
    broker,
    connect: (token: string, agent = 'rosa', more = {}): Promise<BrokerClient> =>
      connectBroker({ url: broker.url, token, agent, ...more }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

describe('The token of an identity provider', () => {
  it.concurrent('gives its agent the role of our map, and can be revoked.', async ({ expect }) => {
    await using provider = await startProvider();
    await using set = await startBroker(provider.issuer);
    const { broker, connect } = set;
    const token = await provider.token();
    await using rosa = await connect(token);
    expect(rosa.welcome).toMatchObject({ agent: 'rosa', role: 'writer' });
    await expect(connect(token, 'max')).rejects.toMatchObject({ code: 'forged_sender' });
    const { token: own } = await broker.issueToken({ agent: 'max', role: 'writer' });
    await using max = await connect(own, 'max');
    expect(max.welcome.role).toBe('writer');
    const { token: operators } = await broker.issueToken({ agent: 'operator.ann', role: 'operator' });
    await using operator = await connect(operators, 'operator.ann');
    const { tokens } = (await operator.admin('token_list', {})) as { tokens: { id: string }[] };
    const id = tokens.find((listed) => listed.id.startsWith('jwt:'))!.id;
    await operator.admin('token_revoke', { id });
    expect(await rosa.closed).toMatchObject({ code: 'unauthorized' });
    await expect(connect(token)).rejects.toMatchObject({ code: 'unauthorized' });
    await using renewed = await connect(await provider.token());
    expect(renewed.state.name).toBe('ready');
  });

  it.concurrent('is refused in words that name what is wrong.', async ({ expect }) => {
    await using provider = await startProvider();
    await using set = await startBroker(provider.issuer);
    const { privateKey } = await generateKeyPair('ES256');
    const exp = inSeconds(600);
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${(await provider.sign({ exp })).split('.')[1]}.`;
    const foreign = new SignJWT({ iss: provider.issuer, aud: audience, sub: 'rosa', groups: 'writers', exp });
    const cases: [string, RegExp][] = [
      [await provider.token('rosa', 'urn:other'), /audience \('aud'\)/],
      [await provider.sign({ exp, iss: 'https://other.example.com' }), /issuer \('iss'\)/],
      [unsigned, /not signed with RS256, ES256, EdDSA/],
      [await provider.sign({ exp: inSeconds(-90) }), /has expired/],
      [await provider.sign({ exp, nbf: inSeconds(90) }), /not valid yet/],
      [await provider.sign({}), /claim 'exp' is missing/],
      [
        await foreign.setProtectedHeader({ alg: 'ES256', kid: 'unknown' }).sign(privateKey),
        /a key that the provider does not publish/,
      ],
      [
        await provider.sign({ exp, groups: ['guests'] }),
        /'groups' holds 'guests', and auth\.roles maps none/,
      ],
      [await provider.sign({ exp, groups: ['writers', 'readers'] }), /leads to several roles/],
      [await provider.sign({ exp, groups: ['constructor'] }), /maps none/],
      [await provider.token('Rosa Smith'), /the claim 'sub' is 'Rosa Smith', which is not an agent id/],
      [await provider.token('orchestrator'), /the claim 'sub' is 'orchestrator', which is a reserved name/],
    ];
    for (const [token, problem] of cases) {
      const failure = await set.connect(token).catch((error) => error);
      expect(failure).toMatchObject({ code: 'unauthorized' });
      expect(failure.message).toMatch(problem);
    }
    // Unknown keys do not make the broker ask again and again.
    expect(provider.requests.filter((url) => url.endsWith('/jwks')).length).toBeLessThanOrEqual(2);
  });

  it.concurrent('ends its session when it expires, and a client goes on with the one that it then has.', async ({
    expect,
  }) => {
    await using provider = await startProvider();
    await using set = await startBroker(provider.issuer);
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
});

it('A broker starts without its provider, whose tokens may be tried again, and finds new keys later.', async ({
  expect,
}) => {
  const port = await lastingPort();
  let now = 0;
  const auth = {
    issuer: `http://127.0.0.1:${port}`,
    audience,
    agentClaim: 'sub',
    roleClaim: 'groups',
    roles: { writers: 'writer' },
  };
  const verifier = await openJwtProvider(auth, { monotonic: () => now });
  expect(verifier.check().ok).toBe(false);
  await using before = await startProvider(undefined, port);
  const token = await before.token();
  expect(await verifier.verify(token)).toMatchObject({ refusal: { isPassing: true } });
  now += 31_000;
  expect(await verifier.verify(token)).toMatchObject({ record: { agent: 'rosa', role: 'writer' } });
  expect(verifier.check().ok).toBe(true);
  await before[Symbol.asyncDispose]();
  // The provider now signs with another key.
  await using after = await startProvider(undefined, port);
  const rotated = await after.token();
  now += 31_000;
  expect(await verifier.verify(rotated)).toMatchObject({ record: { agent: 'rosa' } });
});
