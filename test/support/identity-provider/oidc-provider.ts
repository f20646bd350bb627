import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import Provider from 'oidc-provider';
import { audience } from './issuer.ts';

/** The clients of the provider, which are what its tokens name in `sub`. */
const clients = ['rosa', 'Rosa Smith', 'orchestrator', 'operator.watch', 'ci-*'];

/** Starts an OpenID Connect provider whose clients get JWTs with these claims, and whose key the test has, too. */
export async function startOidcProvider(
  claims: Record<string, unknown> = { groups: ['writers'] },
  given = 0,
) {
  const server = createServer();
  server.listen(given, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const kid = crypto.randomUUID();
  const jwk = { ...(await exportJWK(privateKey)), kid, alg: 'ES256', use: 'sig' };
  const provider = new Provider(issuer, {
    clients: clients.map((client_id) => ({
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
