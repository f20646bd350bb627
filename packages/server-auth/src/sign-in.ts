import type { AuthorizationCodeAuth } from './server-auth.ts';
import type { RefreshTokenStore } from './sign-in-store.ts';

export interface SignInOptions {
  /** The server's name in the configuration. */
  server: string;
  url: string;
  auth: AuthorizationCodeAuth;
  fetch: typeof fetch;
  tokens: RefreshTokenStore;
  /** Called with the URL that the person opens in a browser. */
  onUrl: (url: string) => void;
  signal: AbortSignal;
  /** Where the browser comes back to: a free port of 127.0.0.1 unless given. */
  listen?: { port: number };
}

/**
 * Lets a person sign in to a server (authorization code with PKCE) and stores the refresh token. Rejects with `SignalboxError`
 * `auth_failed` when that is refused, fails or takes more than 5 minutes, and with the signal's reason.
 */
export async function signIn(options: SignInOptions): Promise<void> {
  // Hardly any process does; what it takes is slow to load.
  const { runSignIn } = await import('./sign-in-flow.ts');
  await runSignIn(options);
}
