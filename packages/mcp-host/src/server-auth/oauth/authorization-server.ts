import { SignalboxError } from '@signalbox/protocol';
import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  customFetch,
  discovery,
  None,
  type ServerMetadata,
  type TokenEndpointResponse,
} from 'openid-client';
import { networkFailure } from '../../guarded-fetch/index.ts';
import type { AuthorizationCodeAuth, OAuthAuth } from '../auth-config.ts';
import type { GrantedToken } from '../authorizers/oauth-authorizer.ts';
import { signalboxErrorIn } from './oauth-failure.ts';
import { findProtectedResource, resourceOf } from './protected-resource.ts';

/** The time after which a request to an authorization server is given up, in seconds. */
const timeoutSeconds = 15;

/** An authorization server, and the resource and scope of the requested tokens. */
export interface AuthorizationServer {
  metadata: ServerMetadata;
  /** The way in which the metadata were found; `undefined` if they are the configuration's own. */
  algorithm: 'oauth2' | 'oidc' | undefined;
  /** The resource; empty if tokens are for no particular resource. */
  resource: string;
  scope: string | undefined;
}

/** The facts by which an authorization server is found. */
export interface AuthorizationServerSearch {
  /** The URL of the MCP server. */
  url: string;
  auth: OAuthAuth;
  /** Reaches the server and the authorization server; made by `secureFetch`. */
  fetch: typeof fetch;
  /** The issuer that is used if the configuration names none. */
  issuer?: string | undefined;
}

/**
 * Finds the authorization server of an MCP server by the configuration, or else by the server's own metadata. Rejects with `auth_failed`,
 * or with an error of openid-client.
 */
export async function findAuthorizationServer(
  search: AuthorizationServerSearch,
): Promise<AuthorizationServer> {
  const { auth, url, fetch: send } = search;
  const configured = configuredMetadata(auth);
  if (configured) {
    const resource = auth.resource ?? resourceOf(url);
    return { metadata: configured, algorithm: undefined, resource, scope: auth.scope };
  }
  const known = auth.issuer ?? search.issuer;
  const found =
    known === undefined
      ? await findProtectedResource(url, send, AbortSignal.timeout(timeoutSeconds * 1000))
      : undefined;
  // Before RFC 9728, servers were their own authorization servers.
  const issuer = known ?? found?.issuer ?? new URL(url).origin;
  const { metadata, algorithm } = await discover(issuer, send);
  return {
    metadata: { ...metadata, ...configuredEndpoints(auth) },
    algorithm,
    resource: auth.resource ?? found?.resource ?? resourceOf(url),
    scope: auth.scope ?? found?.scope,
  };
}

/** Returns a client of an authorization server, as openid-client needs it. */
export function clientOf(
  { metadata }: AuthorizationServer,
  client: { clientId: string; clientSecret?: string | undefined },
  send: typeof fetch,
): Configuration {
  const { clientId, clientSecret } = client;
  const configuration = new Configuration(metadata, clientId, {}, clientAuth(metadata, clientSecret));
  configuration.timeout = timeoutSeconds;
  configuration[customFetch] = (url, init) => send(url, init as RequestInit);
  // The fetch itself decides which addresses are secure.
  allowInsecureRequests(configuration);
  return configuration;
}

/** Returns the parameters that name the resource and the scope of a token. */
export function tokenParameters({
  resource,
  scope,
}: Pick<AuthorizationServer, 'resource' | 'scope'>): Record<string, string> {
  return { ...(resource !== '' && { resource }), ...(scope !== undefined && { scope }) };
}

/** Returns the token in a response of a token endpoint. */
export function grantedToken({ access_token, expires_in }: TokenEndpointResponse): GrantedToken {
  return { accessToken: access_token, expiresInMs: expires_in === undefined ? undefined : expires_in * 1000 };
}

/** Returns the way in which a client sends its secret: in the header, unless the server accepts it only in the body. */
export function secretMethod({ token_endpoint_auth_methods_supported: methods }: ServerMetadata) {
  return methods?.includes('client_secret_basic') === false && methods.includes('client_secret_post')
    ? 'client_secret_post'
    : 'client_secret_basic';
}

/** Returns the options that make openid-client use our fetch when it makes a configuration by itself. */
export function discoveryOptions(algorithm: 'oauth2' | 'oidc', send: typeof fetch) {
  return {
    algorithm,
    timeout: timeoutSeconds,
    execute: [allowInsecureRequests],
    [customFetch]: (url: string, init: object) => send(url, init as RequestInit),
  };
}

function clientAuth(metadata: ServerMetadata, secret: string | undefined): ClientAuth {
  if (secret === undefined) return None();
  return secretMethod(metadata) === 'client_secret_post'
    ? ClientSecretPost(secret)
    : ClientSecretBasic(secret);
}

/** Returns metadata from the configuration, if nothing needs to be discovered. */
function configuredMetadata(auth: OAuthAuth): ServerMetadata | undefined {
  const endpoints = configuredEndpoints(auth);
  const isComplete = auth.type !== 'authorization_code' || endpoints.authorization_endpoint !== undefined;
  if (auth.issuer !== undefined || endpoints.token_endpoint === undefined || !isComplete) return undefined;
  return { issuer: new URL(endpoints.token_endpoint).origin, ...endpoints };
}

function configuredEndpoints(auth: OAuthAuth): Partial<ServerMetadata> {
  const { authorizationUrl } = auth as Partial<AuthorizationCodeAuth>;
  return {
    ...(auth.tokenUrl !== undefined && { token_endpoint: auth.tokenUrl }),
    ...(authorizationUrl !== undefined && { authorization_endpoint: authorizationUrl }),
  };
}

/** Requests OAuth metadata (RFC 8414) first, and then those that OpenID providers publish. */
async function discover(issuer: string, send: typeof fetch) {
  const server = URL.parse(issuer);
  if (!server)
    throw new SignalboxError(
      'auth_failed',
      `the issuer '${issuer.slice(0, 200)}' is no URL: set auth.issuer`,
    );
  const read = async (algorithm: 'oauth2' | 'oidc') => {
    const found = await discovery(server, 'unregistered', {}, None(), discoveryOptions(algorithm, send));
    return { metadata: found.serverMetadata(), algorithm };
  };
  try {
    return await read('oauth2');
  } catch (error) {
    const isUnreachable = signalboxErrorIn(error) !== undefined || networkFailure(error) !== undefined;
    if (isUnreachable) throw error;
    return await read('oidc');
  }
}
