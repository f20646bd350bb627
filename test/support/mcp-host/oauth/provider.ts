import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type JWK } from 'oidc-provider';

const exchange = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** A real OAuth server. The person at the browser signs in and consents to everything, unless told otherwise. */
export interface OAuthProvider extends AsyncDisposable {
  issuer: string;
  /** The grant type of every token request that was answered with a token, and `refused: …` for the others. */
  tokenRequests: string[];
  person: { denies: boolean };
  /** The scope of a good access token. */
  check(token: string): Promise<string | undefined>;
  revokeRefreshToken(token: string): Promise<void>;
}

export const subjectToken = 'session-of-the-gateway-1';
/** Ids and secrets of its clients; the secret has what needs encoding. */
export const machine = { clientId: 'machine', clientSecret: 'machine+secret/123456' };
export const webClient = { clientId: 'web', clientSecret: 'web-secret-123456' };

export async function startOAuthProvider(): Promise<OAuthProvider> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = newProvider(issuer);
  const person = { denies: false };
  const tokenRequests: string[] = [];
  provider.on('grant.success', (ctx) => tokenRequests.push(String(ctx.oidc.params?.grant_type)));
  provider.on('grant.error', (ctx) => tokenRequests.push(`refused: ${ctx.oidc.params?.grant_type}`));
  const handle = provider.callback();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.startsWith('/interaction/')) return decide(provider, request, response, person.denies);
    handle(request, response);
  });
  return {
    issuer,
    tokenRequests,
    person,
    async check(token) {
      const found =
        (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token));
      return found?.scope;
    },
    async revokeRefreshToken(token) {
      await (await provider.RefreshToken.find(token))?.destroy();
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function newProvider(issuer: string): Provider {
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: machine.clientId,
        client_secret: machine.clientSecret,
        grant_types: ['client_credentials', exchange],
        redirect_uris: [],
        response_types: [],
      },
      {
        client_id: webClient.clientId,
        client_secret: webClient.clientSecret,
        application_type: 'native',
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: ['http://127.0.0.1/callback'],
      },
    ],
    cookies: { keys: ['cookie-key'] },
    jwks: { keys: [signingKey()] },
    ttl: {
      AccessToken: 600,
      ClientCredentials: 600,
      Grant: 3_600,
      Interaction: 600,
      RefreshToken: 3_600,
      Session: 600,
    },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx, audience) => ({
          audience,
          scope: 'tools admin',
          accessTokenFormat: 'opaque',
          accessTokenTTL: 600,
        }),
      },
    },
    scopes: ['openid', 'offline_access', 'tools', 'admin'],
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    renderError: (ctx, { error, error_description }) => {
      ctx.body = `${error}: ${error_description}`;
    },
  });
  registerTokenExchange(provider);
  return provider;
}

function signingKey(): JWK {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' } as JWK;
}

/** RFC 8693 as far as a gateway needs it: a known subject token becomes an access token for one resource. */
function registerTokenExchange(provider: Provider): void {
  const parameters = [
    'subject_token',
    'subject_token_type',
    'requested_token_type',
    'audience',
    'resource',
    'scope',
  ];
  provider.registerGrantType(
    exchange,
    async (ctx) => {
      const { client } = ctx.oidc;
      const params = ctx.oidc.params as Record<string, string>;
      if (params.subject_token !== subjectToken) {
        ctx.status = 400;
        ctx.body = { error: 'invalid_request', error_description: `unknown token ${params.subject_token}` };
        return;
      }
      const token = new provider.ClientCredentials({ client: client!, scope: `${params.scope}` });
      ctx.body = {
        access_token: await token.save(),
        issued_token_type: params.requested_token_type,
        token_type: 'Bearer',
        expires_in: token.expiration,
      };
    },
    parameters,
  );
}

async function decide(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
  denies: boolean,
): Promise<void> {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (denies) {
    const result = { error: 'access_denied', error_description: 'the person said no' };
    return provider.interactionFinished(request, response, result);
  }
  if (prompt.name === 'login') {
    return provider.interactionFinished(request, response, { login: { accountId: 'rosa' } });
  }
  const grant = new provider.Grant({ accountId: session!.accountId, clientId: String(params.client_id) });
  grant.addOIDCScope('openid offline_access tools admin');
  grant.addResourceScope(String(params.resource), 'tools admin');
  const consent = { grantId: await grant.save() };
  await provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
}
