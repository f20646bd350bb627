import { networkFailure } from '@signalbox/guarded-fetch';
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
} from 'openid-client';
import { signalboxErrorIn } from './oauth-failure.ts';
import { findProtectedResource, resourceOf } from './protected-resource.ts';
import type { AuthorizationCodeAuth, ServerAuth } from './server-auth.ts';

/** Seconds until an authorization server is given up. */
const answerSeconds = 15;

export type OAuth = Exclude<ServerAuth, { type: 'bearer' }>;

/** Whom to ask for tokens, and for what. */
export interface AuthorizationServer {
  metadata: ServerMetadata;
  /** How the metadata were found; `undefined`: they are the configuration's own. */
  algorithm: 'oauth2' | 'oidc' | undefined;
  /** Empty: none is named. */
  resource: string;
  scope: string | undefined;
}

/** `fetch` must be a {@link secureFetch}. `issuer` stands in where the configuration names none. */
export interface Search {
  url: string;
  auth: OAuth;
  fetch: typeof fetch;
  issuer?: string | undefined;
}

/** Finds the authorization server of an MCP server by the configuration, else by what the server says. Rejects with `auth_failed`, or what openid-client throws. */
export async function findAuthorizationServer(search: Search): Promise<AuthorizationServer> {
  const { auth, url } = search;
  const own = configuredMetadata(auth);
  if (own)
    return {
      metadata: own,
      algorithm: undefined,
      resource: auth.resource ?? resourceOf(url),
      scope: auth.scope,
    };
  const known = auth.issuer ?? search.issuer;
  const found =
    known === undefined
      ? await findProtectedResource(url, search.fetch, AbortSignal.timeout(answerSeconds * 1000))
      : undefined;
  // Before the metadata were invented, servers were their own authorization servers.
  const issuer = known ?? found?.issuer ?? new URL(url).origin;
  const { metadata, algorithm } = await discover(issuer, search.fetch);
  return {
    metadata: { ...metadata, ...configuredEndpoints(auth) },
    algorithm,
    resource: auth.resource ?? found?.resource ?? resourceOf(url),
    scope: auth.scope ?? found?.scope,
  };
}

/** A client of that server, as openid-client wants it. */
export function clientOf(
  { metadata }: AuthorizationServer,
  client: { clientId: string; clientSecret?: string | undefined },
  send: typeof fetch,
): Configuration {
  const { clientId, clientSecret } = client;
  const configuration = new Configuration(metadata, clientId, {}, clientAuth(metadata, clientSecret));
  configuration.timeout = answerSeconds;
  configuration[customFetch] = (url, init) => send(url, init as RequestInit);
  // What is secure enough is judged by the fetch.
  allowInsecureRequests(configuration);
  return configuration;
}

/** How clients with a secret show it: in the header, unless the server wants it in the body only. */
export function secretMethod({ token_endpoint_auth_methods_supported: methods }: ServerMetadata) {
  return methods?.includes('client_secret_basic') === false && methods.includes('client_secret_post')
    ? 'client_secret_post'
    : 'client_secret_basic';
}

/** How openid-client is made to use our fetch where it makes a configuration by itself. */
export function discoveryOptions(algorithm: 'oauth2' | 'oidc', send: typeof fetch) {
  return {
    algorithm,
    timeout: answerSeconds,
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

function configuredMetadata(auth: OAuth): ServerMetadata | undefined {
  const endpoints = configuredEndpoints(auth);
  const isWhole = auth.type !== 'authorization_code' || endpoints.authorization_endpoint !== undefined;
  if (auth.issuer !== undefined || endpoints.token_endpoint === undefined || !isWhole) return undefined;
  return { issuer: new URL(endpoints.token_endpoint).origin, ...endpoints };
}

function configuredEndpoints(auth: OAuth): Partial<ServerMetadata> {
  const { authorizationUrl } = auth as Partial<AuthorizationCodeAuth>;
  return {
    ...(auth.tokenUrl !== undefined && { token_endpoint: auth.tokenUrl }),
    ...(authorizationUrl !== undefined && { authorization_endpoint: authorizationUrl }),
  };
}

/** RFC 8414 first, then what OpenID providers publish. */
async function discover(issuer: string, send: typeof fetch) {
  const server = URL.parse(issuer);
  if (!server) throw new SignalboxError('auth_failed', `the issuer '${issuer.slice(0, 200)}' is no URL`);
  for (const algorithm of ['oauth2', 'oidc'] as const) {
    try {
      const found = await discovery(server, 'unregistered', {}, None(), discoveryOptions(algorithm, send));
      return { metadata: found.serverMetadata(), algorithm };
    } catch (error) {
      const isFinal = signalboxErrorIn(error) !== undefined || networkFailure(error) !== undefined;
      if (isFinal || algorithm === 'oidc') throw error;
    }
  }
  throw new SignalboxError('auth_failed', 'no metadata');
}
