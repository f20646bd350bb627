import { messageOf, SignalboxError } from '@signalbox/protocol';
import { refreshTokenGrant } from 'openid-client';
import type { AuthorizationCodeAuth } from '../auth-config.ts';
import type { Grant, GrantedToken } from '../authorizers/oauth-authorizer.ts';
import {
  type AuthorizationServer,
  clientOf,
  findAuthorizationServer,
  grantedToken,
  tokenParameters,
} from '../oauth/authorization-server.ts';
import { oauthErrorOf } from '../oauth/oauth-failure.ts';
import { resourceOf } from '../oauth/protected-resource.ts';
import { signInCommand } from '../sign-in/sign-in-command.ts';
import type { RefreshTokenStore, SignIn } from '../sign-in/sign-in-store.ts';

const ended = 'the sign-in has ended: the authorization server does not take its refresh token any more';
const elsewhere = 'the sign-in was made for another address or another client';

/** The options of {@link refreshGrant}. */
export interface RefreshGrantOptions {
  server: string;
  url: string;
  auth: AuthorizationCodeAuth;
  fetch: typeof fetch;
  tokens: RefreshTokenStore;
  /** Called with each secret that is read or received. */
  keepSecret: (secret: string) => void;
}

/** Makes a grant that uses the refresh token of a person's sign-in. It rejects with `needs_auth` if no sign-in is valid. */
export function refreshGrant(options: RefreshGrantOptions): Grant {
  const { server, auth, keepSecret } = options;
  const current = new RotatingSignIn(server, options.tokens);
  let found: { issuer: string; as: AuthorizationServer } | undefined;
  let refusedToken: string | undefined;

  const serverOf = async ({ issuer }: SignIn): Promise<AuthorizationServer> => {
    if (found?.issuer !== issuer) {
      found = { issuer, as: await findAuthorizationServer({ ...options, issuer }) };
    }
    if (found.as.metadata.issuer !== issuer) throw needsAuth(server, elsewhere);
    return found.as;
  };
  const use = async (signIn: SignIn): Promise<GrantedToken> => {
    if (!isFor(signIn, options)) throw needsAuth(server, elsewhere);
    for (const secret of [signIn.refreshToken, signIn.clientSecret]) if (secret) keepSecret(secret);
    const { clientId, clientSecret } = auth.clientId === undefined ? signIn : auth;
    const as = await serverOf(signIn);
    const client = clientOf(as, { clientId: clientId ?? signIn.clientId, clientSecret }, options.fetch);
    // Without a scope in the request, the scope is the one that was granted to the person.
    const parameters = tokenParameters({ resource: auth.resource ?? signIn.resource, scope: undefined });
    const answer = await refreshTokenGrant(client, signIn.refreshToken, parameters);
    const { refresh_token: rotated } = answer;
    if (rotated !== undefined && rotated !== signIn.refreshToken) {
      keepSecret(rotated);
      await current.rotate(signIn, rotated);
    }
    return grantedToken(answer);
  };

  return async () => {
    const signIn = await current.read();
    if (!signIn) throw needsAuth(server, 'nobody has signed in');
    if (signIn.refreshToken === refusedToken) throw needsAuth(server, ended);
    try {
      return await use(signIn);
    } catch (error) {
      if (oauthErrorOf(error) !== 'invalid_grant') throw error;
    }
    refusedToken = signIn.refreshToken;
    // Somebody may have signed in again meanwhile.
    const newer = await current.read();
    if (newer === undefined || newer.refreshToken === refusedToken) throw needsAuth(server, ended);
    return use(newer);
  };
}

function isFor(signIn: SignIn, { url, auth }: RefreshGrantOptions): boolean {
  const sameClient = auth.clientId === undefined || auth.clientId === signIn.clientId;
  return signIn.url === resourceOf(url) && sameClient;
}

function needsAuth(server: string, why: string): SignalboxError {
  return new SignalboxError('needs_auth', `${why}; run: ${signInCommand(server)}`);
}

/**
 * The stored sign-in to one server. Somebody may sign in again at any time, and each use may replace the refresh token. The old token is
 * then invalid, so a new one that could not be stored is kept here until it is.
 */
class RotatingSignIn {
  readonly #server: string;
  readonly #tokens: RefreshTokenStore;
  /** A sign-in that is not stored yet, and the refresh token from which it came. */
  #unsaved: { from: string; signIn: SignIn } | undefined;

  constructor(server: string, tokens: RefreshTokenStore) {
    this.#server = server;
    this.#tokens = tokens;
  }

  async read(): Promise<SignIn | undefined> {
    const stored = await this.#tokens.read(this.#server);
    if (!this.#unsaved) return stored;
    if (stored?.refreshToken === this.#unsaved.from) return this.#save(this.#unsaved.signIn);
    this.#unsaved = undefined;
    return stored;
  }

  /** Replaces the refresh token. Resolves when the new one is stored, and rejects with `auth_failed` if it can't be. */
  async rotate(signIn: SignIn, refreshToken: string): Promise<void> {
    const rotated = { ...signIn, refreshToken };
    this.#unsaved = { from: signIn.refreshToken, signIn: rotated };
    await this.#save(rotated);
  }

  async #save(signIn: SignIn): Promise<SignIn> {
    try {
      await this.#tokens.write(this.#server, signIn);
    } catch (error) {
      throw new SignalboxError('auth_failed', `the new refresh token can't be stored: ${messageOf(error)}`, {
        retryable: true,
      });
    }
    this.#unsaved = undefined;
    return signIn;
  }
}
