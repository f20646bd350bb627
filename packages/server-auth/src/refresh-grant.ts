import { SignalboxError } from '@signalbox/protocol';
import { refreshTokenGrant } from 'openid-client';
import { type AuthorizationServer, clientOf, findAuthorizationServer } from './authorization-server.ts';
import { grantedBy, purpose } from './grants.ts';
import { HeldSignIn } from './held-sign-in.ts';
import { oauthErrorOf } from './oauth-failure.ts';
import { resourceOf } from './protected-resource.ts';
import type { AuthorizationCodeAuth } from './server-auth.ts';
import { signInCommand } from './sign-in-command.ts';
import type { RefreshTokenStore, SignIn } from './sign-in-store.ts';
import type { Granted } from './token-authorizer.ts';

const ended = 'the sign-in has ended: the authorization server does not take its refresh token any more';
const elsewhere = 'the sign-in was made for another address or another client';

export interface RefreshGrantOptions {
  server: string;
  url: string;
  auth: AuthorizationCodeAuth;
  fetch: typeof fetch;
  tokens: RefreshTokenStore;
  /** Called with each secret that is read or received. */
  keepSecret: (secret: string) => void;
}

/** Gets tokens by the refresh token of a person's sign-in. Rejects with `needs_auth` when there is none that is good. */
export function refreshGrant(options: RefreshGrantOptions): () => Promise<Granted> {
  const { server, auth, keepSecret } = options;
  const held = new HeldSignIn(server, options.tokens);
  let found: { issuer: string; as: AuthorizationServer } | undefined;
  let refused: string | undefined;

  const serverOf = async ({ issuer }: SignIn): Promise<AuthorizationServer> => {
    if (found?.issuer !== issuer) {
      found = { issuer, as: await findAuthorizationServer({ ...options, issuer }) };
    }
    if (found.as.metadata.issuer !== issuer) throw needsAuth(server, elsewhere);
    return found.as;
  };
  const use = async (signIn: SignIn): Promise<Granted> => {
    if (!isFor(signIn, options)) throw needsAuth(server, elsewhere);
    for (const secret of [signIn.refreshToken, signIn.clientSecret]) if (secret) keepSecret(secret);
    const { clientId, clientSecret } = auth.clientId === undefined ? signIn : auth;
    const as = await serverOf(signIn);
    const client = clientOf(as, { clientId: clientId ?? signIn.clientId, clientSecret }, options.fetch);
    // Without a scope, it is the one that was granted to the person.
    const parameters = purpose({ resource: auth.resource ?? signIn.resource, scope: undefined });
    const answer = await refreshTokenGrant(client, signIn.refreshToken, parameters);
    const { refresh_token: rotated } = answer;
    if (rotated !== undefined && rotated !== signIn.refreshToken) {
      keepSecret(rotated);
      await held.rotate(signIn, rotated);
    }
    return grantedBy(answer);
  };

  return async () => {
    const signIn = await held.current();
    if (!signIn) throw needsAuth(server, 'nobody has signed in');
    if (signIn.refreshToken === refused) throw needsAuth(server, ended);
    try {
      return await use(signIn);
    } catch (error) {
      if (oauthErrorOf(error) !== 'invalid_grant') throw error;
    }
    refused = signIn.refreshToken;
    // Somebody may have signed in again meanwhile.
    const newer = await held.current();
    if (newer === undefined || newer.refreshToken === refused) throw needsAuth(server, ended);
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
