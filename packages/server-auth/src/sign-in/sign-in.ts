import type { AuthorizationCodeAuth } from '../auth-config.ts';
import type { RefreshTokenStore } from './sign-in-store.ts';

/** The options of {@link signIn}. */
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

/**
 * Lets a person sign in to a server (authorization code with PKCE) and stores the refresh token. Rejects with `SignalboxError`
 * `auth_failed` if the sign-in is refused, fails or takes more than 5 minutes, and with the signal's reason if that aborts.
 */
export async function signIn(options: SignInOptions): Promise<void> {
  // Loaded when it is needed: openid-client is slow to load, and few processes sign anybody in.
  const { runSignIn } = await import('./sign-in-flow.ts');
  await runSignIn(options);
}
