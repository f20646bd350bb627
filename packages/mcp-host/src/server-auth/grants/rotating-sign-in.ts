import { messageOf, SignalboxError } from '@signalbox/protocol';
import type { RefreshTokenStore, SignIn } from '../sign-in/sign-in-store.ts';

/**
 * The stored sign-in to one server. Somebody may sign in again at any time, and each use may replace the refresh token. The old token is
 * then invalid, so a new one that could not be stored is kept here until it is.
 */
export class RotatingSignIn {
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
