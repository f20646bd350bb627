import { SignalboxError } from '@signalbox/protocol';
import {
  type Configuration,
  clientCredentialsGrant,
  genericGrantRequest,
  type TokenEndpointResponse,
} from 'openid-client';
import { type AuthorizationServer, clientOf, findAuthorizationServer } from './authorization-server.ts';
import type { ClientCredentialsAuth, TokenExchangeAuth } from './server-auth.ts';
import type { Granted } from './token-authorizer.ts';

const exchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
const accessToken = 'urn:ietf:params:oauth:token-type:access_token';

/** Gets tokens without a person: each call asks the authorization server, which is looked for once. */
export function unattendedGrant(
  url: string,
  auth: ClientCredentialsAuth | TokenExchangeAuth,
  send: typeof fetch,
): () => Promise<Granted> {
  const client = onceGood(async () => {
    const { clientId, clientSecret } = auth;
    if (clientId === undefined) throw missing('clientId', auth.type);
    checkDestination(auth);
    const server = await findAuthorizationServer({ url, auth, fetch: send });
    return { server, configuration: clientOf(server, { clientId, clientSecret }, send) };
  });
  return async () => {
    const { server, configuration } = await client();
    return grantedBy(await ask(configuration, server, auth));
  };
}

/** What counts of a token response. */
export function grantedBy({ access_token, expires_in }: TokenEndpointResponse): Granted {
  return { accessToken: access_token, expiresInMs: expires_in === undefined ? undefined : expires_in * 1000 };
}

/** The parameters that say what a token is for. */
export function purpose({
  resource,
  scope,
}: Pick<AuthorizationServer, 'resource' | 'scope'>): Record<string, string> {
  return { ...(resource !== '' && { resource }), ...(scope !== undefined && { scope }) };
}

/** Remembers what was made, but not that it failed. */
export function onceGood<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

function ask(
  configuration: Configuration,
  server: AuthorizationServer,
  auth: ClientCredentialsAuth | TokenExchangeAuth,
): Promise<TokenEndpointResponse> {
  if (auth.type === 'client_credentials') return clientCredentialsGrant(configuration, purpose(server));
  return genericGrantRequest(configuration, exchange, {
    ...purpose(server),
    ...(auth.audience !== undefined && { audience: auth.audience }),
    subject_token: auth.subjectToken,
    subject_token_type: auth.subjectTokenType ?? accessToken,
    requested_token_type: accessToken,
  });
}

/** The subject token is good for more than this server, so it does not go where the server points. */
function checkDestination(auth: ClientCredentialsAuth | TokenExchangeAuth): void {
  if (auth.type === 'token_exchange' && auth.issuer === undefined && auth.tokenUrl === undefined) {
    throw missing('issuer or tokenUrl', auth.type);
  }
}

function missing(field: string, type: string): SignalboxError {
  return new SignalboxError(
    'auth_failed',
    `auth of type ${type} needs ${field}: add it to the server's auth`,
  );
}
