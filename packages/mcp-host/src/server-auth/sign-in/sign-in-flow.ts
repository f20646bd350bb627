import { SignalboxError } from '@signalbox/protocol';
import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type Configuration,
  calculatePKCECodeChallenge,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import { redactorOf } from '../../redaction/index.ts';
import type { AuthorizationCodeAuth } from '../auth-config.ts';
import { secretsOfAuth } from '../auth-secrets.ts';
import {
  type AuthorizationServer,
  clientOf,
  findAuthorizationServer,
  tokenParameters,
} from '../oauth/authorization-server.ts';
import { oauthFailure } from '../oauth/oauth-failure.ts';
import { resourceOf } from '../oauth/protected-resource.ts';
import { checkSecure, secureFetch } from '../oauth/secure-fetch.ts';
import { type CallbackServer, openCallbackServer } from './callback-server.ts';
import { type Client, clientFor } from './client-registration.ts';
import type { RefreshTokenStore, SignIn } from './sign-in-store.ts';

/** The options of a sign-in. */
export interface SignInOptions {
  /** The server's name in the configuration. */
  server: string;
  url: string;
  auth: AuthorizationCodeAuth;
  fetch: typeof fetch;
  tokens: RefreshTokenStore;
  /** Called with the URL that the person has to open in a browser. */
  onUrl: (url: string) => void;
  signal: AbortSignal;
  /** The port of 127.0.0.1 to which the browser returns; a free one unless given. */
  listen?: { port: number };
}

/** The time that a person has for a sign-in, in milliseconds. */
const timeLimitMs = 5 * 60_000;

/** Runs a sign-in. `signIn`, which loads this file when it is called, describes the steps. */
export async function runSignIn(options: SignInOptions): Promise<void> {
  const redact = redactorOf(secretsOfAuth(options.auth));
  const timeLimit = AbortSignal.timeout(timeLimitMs);
  const signal = AbortSignal.any([options.signal, timeLimit]);
  try {
    await using callbacks = await openCallbackServer(options.listen?.port ?? 0);
    await signInOver(callbacks, { ...options, fetch: secureFetch(options.fetch), signal });
  } catch (error) {
    options.signal.throwIfAborted();
    if (timeLimit.aborted) {
      throw new SignalboxError('auth_failed', 'nobody signed in within 5 minutes: start the sign-in again');
    }
    throw oauthFailure(error, redact);
  }
}

async function signInOver(callbacks: CallbackServer, options: SignInOptions): Promise<void> {
  const { redirectUri } = callbacks;
  const as = withOfflineAccess(await findAuthorizationServer(options), options.auth);
  checkAbilities(as);
  const client = await clientFor(as, redirectUri, options.auth, options.fetch);
  const configuration = clientOf(as, client, options.fetch);
  const checks = { pkceCodeVerifier: randomPKCECodeVerifier(), expectedState: randomState() };
  options.onUrl(await authorizationUrl(configuration, as, redirectUri, checks));
  const callback = await callbacks.next(checks.expectedState, options.signal);
  let isSignedIn = false;
  try {
    const url = new URL(callback.url.search, redirectUri);
    const refreshToken = await exchangeCode(configuration, as, url, checks);
    await options.tokens.write(options.server, signInWith(refreshToken, as, client, options));
    isSignedIn = true;
  } finally {
    await callback.finish(isSignedIn);
  }
}

interface Checks {
  pkceCodeVerifier: string;
  expectedState: string;
}

/** Exchanges the code in the URL to which the browser returned for a refresh token. */
async function exchangeCode(
  configuration: Configuration,
  as: AuthorizationServer,
  url: URL,
  checks: Checks,
): Promise<string> {
  const parameters = tokenParameters({ ...as, scope: undefined });
  const answer = await authorizationCodeGrant(configuration, url, checks, parameters);
  if (answer.refresh_token === undefined) throw noRefreshToken();
  return answer.refresh_token;
}

function signInWith(
  refreshToken: string,
  { metadata, resource }: AuthorizationServer,
  { clientId, clientSecret }: Client,
  { url, auth }: SignInOptions,
): SignIn {
  // A secret from the configuration stays there.
  const isRegistered = auth.clientId === undefined && clientSecret !== undefined;
  const { issuer } = metadata;
  return {
    url: resourceOf(url),
    issuer,
    resource,
    clientId,
    ...(isRegistered && { clientSecret }),
    refreshToken,
  };
}

/** Adds the scope that makes a sign-in outlast the person's session, if the server has it and the operator names no scope. */
function withOfflineAccess(as: AuthorizationServer, auth: AuthorizationCodeAuth): AuthorizationServer {
  const isSupported = as.metadata.scopes_supported?.includes('offline_access') ?? false;
  if (auth.scope !== undefined || !isSupported) return as;
  const scopes = new Set([...(as.scope?.split(' ') ?? []), 'offline_access']);
  return { ...as, scope: [...scopes].join(' ') };
}

async function authorizationUrl(
  configuration: Configuration,
  as: AuthorizationServer,
  redirectUri: string,
  { pkceCodeVerifier, expectedState }: Checks,
): Promise<string> {
  const scope = as.scope?.split(' ') ?? [];
  const url = buildAuthorizationUrl(configuration, {
    ...tokenParameters(as),
    redirect_uri: redirectUri,
    state: expectedState,
    code_challenge: await calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    // OpenID Connect Core §11: without it, a request for offline access is ignored.
    ...(scope.includes('offline_access') && { prompt: 'consent' }),
  });
  checkSecure(url);
  return url.href;
}

function checkAbilities({ metadata }: AuthorizationServer): void {
  const { code_challenge_methods_supported: methods, authorization_endpoint: endpoint } = metadata;
  if (endpoint === undefined) {
    throw new SignalboxError(
      'auth_failed',
      'the authorization server has no sign-in in a browser: check auth.type',
    );
  }
  if (methods && !methods.includes('S256')) {
    throw new SignalboxError(
      'auth_failed',
      'the authorization server does not support PKCE with S256: allow it there for the client',
    );
  }
}

function noRefreshToken(): SignalboxError {
  return new SignalboxError(
    'auth_failed',
    'the authorization server gave no refresh token, so the sign-in would not last: add offline_access to auth.scope, or allow it for the client',
  );
}
