import { redactorOf } from '../redaction/index.ts';
import type { OAuthAuth, ServerAuth } from './auth-config.ts';
import { secretsOfAuth } from './auth-secrets.ts';
import type { AuthEvent, Authorizer } from './authorizer.ts';
import { FixedTokenAuthorizer } from './authorizers/fixed-token-authorizer.ts';
import { type Grant, OAuthAuthorizer } from './authorizers/oauth-authorizer.ts';
import { secureFetch } from './oauth/secure-fetch.ts';
import type { RefreshTokenStore } from './sign-in/sign-in-store.ts';

/** The options of {@link createAuthorizer}. */
export interface AuthorizerOptions {
  /** The server's name in the configuration. */
  server: string;
  url: string;
  auth: ServerAuth;
  /** Returns monotonic milliseconds. */
  now?: () => number;
  /** Reaches the authorization server, whose address others may have chosen: see {@link hostsOfAuth}. */
  fetch: typeof fetch;
  tokens: RefreshTokenStore;
  log: (event: AuthEvent) => void;
}

/** Creates the access to a server by its configuration. Nothing is requested until a header is needed. */
export function createAuthorizer(options: AuthorizerOptions): Authorizer {
  const { server, auth, now = () => performance.now(), log } = options;
  if (auth.type === 'bearer') return new FixedTokenAuthorizer(auth.token);
  const secrets = new RecentSecrets(secretsOfAuth(auth));
  const redact = (text: string) => secrets.redact(text);
  const open = onceLoaded(() => openGrant(options, auth, (secret) => secrets.add(secret)));
  const grant: Grant = async () => {
    try {
      const ask = await open();
      const granted = await ask();
      secrets.add(granted.accessToken);
      return granted;
    } catch (error) {
      const { oauthFailure } = await import('./oauth/oauth-failure.ts');
      throw oauthFailure(error, redact);
    }
  };
  return new OAuthAuthorizer({ server, grant, secrets: () => secrets.all(), redact, now, log });
}

/**
 * Opens the grant of an OAuth flow. OAuth is loaded only when it is used: openid-client is slow to load, and most processes never need it.
 */
async function openGrant(
  { server, url, tokens, fetch }: AuthorizerOptions,
  auth: OAuthAuth,
  keepSecret: (secret: string) => void,
): Promise<Grant> {
  const send = secureFetch(fetch);
  if (auth.type === 'authorization_code') {
    const { refreshGrant } = await import('./grants/refresh-grant.ts');
    return refreshGrant({ server, url, auth, fetch: send, tokens, keepSecret });
  }
  const { unattendedGrant } = await import('./grants/unattended-grant.ts');
  return unattendedGrant(url, auth, send);
}

function onceLoaded<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => {
    loaded ??= load();
    return loaded;
  };
}

/** The number of tokens that are redacted, because a late answer may still quote an old one. */
const tokensRemembered = 16;

class RecentSecrets {
  readonly #fixed: readonly string[];
  #recent: readonly string[] = [];
  #redactor: (text: string) => string;

  constructor(fixed: readonly string[]) {
    this.#fixed = fixed;
    this.#redactor = redactorOf(fixed);
  }

  add(secret: string): void {
    if (this.#recent.includes(secret)) return;
    this.#recent = [secret, ...this.#recent].slice(0, tokensRemembered);
    this.#redactor = redactorOf(this.all());
  }

  all(): readonly string[] {
    return [...this.#fixed, ...this.#recent];
  }

  redact(text: string): string {
    return this.#redactor(text);
  }
}

/** Lists the hosts, with ports, that the operator wrote down for a server. A guarded fetch may allow them even if they are private. */
export function hostsOfAuth(url: string, auth: ServerAuth): string[] {
  const endpoints = auth.type === 'bearer' ? [] : [auth.issuer, auth.tokenUrl];
  const authorization = auth.type === 'authorization_code' ? [auth.authorizationUrl] : [];
  const hosts = [url, ...endpoints, ...authorization].flatMap((text) => {
    const at = text === undefined ? null : URL.parse(text);
    return at ? [`${at.hostname}:${at.port || (at.protocol === 'http:' ? 80 : 443)}`] : [];
  });
  return [...new Set(hosts)];
}
