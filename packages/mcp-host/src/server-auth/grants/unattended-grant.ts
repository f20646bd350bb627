import { SignalboxError } from '@signalbox/protocol';
import {
  type Configuration,
  clientCredentialsGrant,
  genericGrantRequest,
  type TokenEndpointResponse,
} from 'openid-client';
import type { ClientCredentialsAuth, TokenExchangeAuth } from '../auth-config.ts';
import type { Grant } from '../authorizers/oauth-authorizer.ts';
import {
  type AuthorizationServer,
  clientOf,
  findAuthorizationServer,
  grantedToken,
  tokenParameters,
} from '../oauth/authorization-server.ts';

type UnattendedAuth = ClientCredentialsAuth | TokenExchangeAuth;

const exchangeGrantType = 'urn:ietf:params:oauth:grant-type:token-exchange';
const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

/** Makes a grant that needs no person. The authorization server is looked up once, when the grant is first used. */
export function unattendedGrant(url: string, auth: UnattendedAuth, send: typeof fetch): Grant {
  const findClient = async () => {
    const { clientId, clientSecret } = auth;
    if (clientId === undefined) throw missing('clientId', auth.type);
    checkDestination(auth);
    const server = await findAuthorizationServer({ url, auth, fetch: send });
    return { server, configuration: clientOf(server, { clientId, clientSecret }, send) };
  };
  let finding: ReturnType<typeof findClient> | undefined;
  return async () => {
    finding ??= findClient().catch((error) => {
      // Only a success is remembered.
      finding = undefined;
      throw error;
    });
    const { server, configuration } = await finding;
    return grantedToken(await requestToken(configuration, server, auth));
  };
}

function requestToken(
  configuration: Configuration,
  server: AuthorizationServer,
  auth: UnattendedAuth,
): Promise<TokenEndpointResponse> {
  if (auth.type === 'client_credentials') {
    return clientCredentialsGrant(configuration, tokenParameters(server));
  }
  return genericGrantRequest(configuration, exchangeGrantType, {
    ...tokenParameters(server),
    ...(auth.audience !== undefined && { audience: auth.audience }),
    subject_token: auth.subjectToken,
    subject_token_type: auth.subjectTokenType ?? accessTokenType,
    requested_token_type: accessTokenType,
  });
}

/**
 * Checks the destination of the subject token. The token is valid for more than this server, so it is sent only to an address of the
 * configuration.
 */
function checkDestination(auth: UnattendedAuth): void {
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
