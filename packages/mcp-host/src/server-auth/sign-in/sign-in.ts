import type { SignInOptions } from './sign-in-flow.ts';

/**
 * Lets a person sign in to a server (authorization code with PKCE) and stores the refresh token. Rejects with `SignalboxError`
 * `auth_failed` if the sign-in is refused, fails or takes more than 5 minutes, and with the signal's reason if that aborts.
 */
export async function signIn(options: SignInOptions): Promise<void> {
  // Loaded when it is needed: openid-client is slow to load, and few processes sign anybody in.
  const { runSignIn } = await import('./sign-in-flow.ts');
  await runSignIn(options);
}
