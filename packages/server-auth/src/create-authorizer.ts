import { redactorOf } from '@signalbox/redaction';
import type { AuthEvent, Authorizer } from './authorizer.ts';
import { secretsOfAuth } from './secrets-of-auth.ts';
import { secureFetch } from './secure-fetch.ts';
import type { ServerAuth } from './server-auth.ts';
import type { RefreshTokenStore } from './sign-in-store.ts';
import { StaticAuthorizer } from './static-authorizer.ts';
import { TokenAuthorizer } from './token-authorizer.ts';

/** Old tokens may still be quoted by late answers. */
const tokensRemembered = 16;

export interface AuthorizerOptions {
  /** The server's name in the configuration. */
  server: string;
  url: string;
  auth: ServerAuth;
  /** Epoch milliseconds. */
  now?: () => number;
  /** For the authorization server, whose address may come from others: see {@link hostsOfAuth}. */
  fetch: typeof fetch;
  tokens: RefreshTokenStore;
  log: (event: AuthEvent) => void;
}

/** The access to a server by what its configuration says. Asks for nothing until it is needed. */
export function createAuthorizer(options: AuthorizerOptions): Authorizer {
  const { server, url, auth, now = Date.now, tokens, log } = options;
  if (auth.type === 'bearer') return new StaticAuthorizer(auth.token);
  const send = secureFetch(options.fetch);
  const fixed = secretsOfAuth(auth);
  let recent: string[] = [];
  const keepSecret = (secret: string) => {
    if (!recent.includes(secret)) recent = [secret, ...recent].slice(0, tokensRemembered);
  };
  const redact = (text: string) => redactorOf([...fixed, ...recent])(text);
  // What speaks OAuth is slow to load, and most processes never need it.
  const openGrant = async () => {
    if (auth.type === 'authorization_code') {
      const { refreshGrant } = await import('./refresh-grant.ts');
      return refreshGrant({ server, url, auth, fetch: send, tokens, keepSecret });
    }
    const { unattendedGrant } = await import('./grants.ts');
    return unattendedGrant(url, auth, send);
  };
  let opened: ReturnType<typeof openGrant> | undefined;
  const grant = async () => {
    try {
      opened ??= openGrant();
      const ask = await opened;
      const granted = await ask();
      keepSecret(granted.accessToken);
      return granted;
    } catch (error) {
      const { oauthFailure } = await import('./oauth-failure.ts');
      throw oauthFailure(error, redact);
    }
  };
  return new TokenAuthorizer({ server, grant, redact, now, log });
}

/** The hosts, with ports, that the operator wrote down for a server: a guarded fetch may allow them even if they are private. */
export function hostsOfAuth(url: string, auth: ServerAuth): string[] {
  const endpoints = auth.type === 'bearer' ? [] : [auth.issuer, auth.tokenUrl];
  const authorization = auth.type === 'authorization_code' ? [auth.authorizationUrl] : [];
  const hosts = [url, ...endpoints, ...authorization].flatMap((text) => {
    const at = text === undefined ? null : URL.parse(text);
    return at ? [`${at.hostname}:${at.port || (at.protocol === 'http:' ? 80 : 443)}`] : [];
  });
  return [...new Set(hosts)];
}

/** Forgets a person's sign-in to a server. Whether there was one. */
export function signOut(options: { server: string; tokens: RefreshTokenStore }): Promise<boolean> {
  return options.tokens.forget(options.server);
}
