import { messageOf, SignalboxError } from '@signalbox/protocol';
import type { RefreshTokenStore, SignIn } from './sign-in-store.ts';

/** One server's sign-in as it is now: somebody may sign in again at any time, and each use may rotate its refresh token. */
export class HeldSignIn {
  readonly #server: string;
  readonly #tokens: RefreshTokenStore;
  /** A rotated sign-in that is not stored yet, and the refresh token it came from. */
  #unsaved: { from: string; signIn: SignIn } | undefined;

  constructor(server: string, tokens: RefreshTokenStore) {
    this.#server = server;
    this.#tokens = tokens;
  }

  async current(): Promise<SignIn | undefined> {
    const stored = await this.#tokens.read(this.#server);
    if (!this.#unsaved) return stored;
    if (stored?.refreshToken === this.#unsaved.from) return this.#save(this.#unsaved.signIn);
    this.#unsaved = undefined;
    return stored;
  }

  /** Resolves when the new refresh token is stored. The old one is worth nothing any more, so the new one is kept until then. */
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
