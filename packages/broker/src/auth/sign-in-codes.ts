import type { TokenRecord } from '@signalbox/store';
import { newSecret } from './token-secret.ts';

/** How long a code is good, in milliseconds. */
export const signInCodeMs = 60_000;

/** The most codes that wait to be used. The oldest of the token with the most of them makes room for a newer one. */
const maxCodes = 256;

/** Codes with which browsers sign in. Each is good once and for a minute, and stands for the token of who asked for it. */
export class SignInCodes {
  readonly #codes = new Map<string, { tokenId: string; until: number }>();
  readonly #monotonic: () => number;

  /** `monotonic` returns milliseconds. */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Makes a code for a token. */
  issue({ id }: Pick<TokenRecord, 'id'>): string {
    const code = newSecret();
    if (this.#codes.size >= maxCodes) this.#makeRoom();
    this.#codes.set(code, { tokenId: id, until: this.#monotonic() + signInCodeMs });
    return code;
  }

  /** Uses a code up. Returns the id of its token, or `undefined` if it is not good. */
  take(code: string): string | undefined {
    const found = this.#codes.get(code);
    this.#codes.delete(code);
    return found && this.#monotonic() < found.until ? found.tokenId : undefined;
  }

  /** Forgets a code of the token that has the most, so that who asks for many spoils nobody else's. */
  #makeRoom(): void {
    const byToken = Map.groupBy(this.#codes, ([, { tokenId }]) => tokenId);
    const [most] = [...byToken.values()].sort((a, b) => b.length - a.length);
    if (most) this.#codes.delete(most[0]![0]);
  }
}
