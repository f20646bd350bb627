import type { TokenRecord } from '@signalbox/store';
import { newSecret } from './token-secret.ts';

/** How long a code is good, in milliseconds. */
export const signInCodeMs = 60_000;

/** The most codes that wait to be used. The oldest makes room for a newer one. */
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
    const [oldest] = this.#codes.keys();
    if (this.#codes.size >= maxCodes && oldest !== undefined) this.#codes.delete(oldest);
    this.#codes.set(code, { tokenId: id, until: this.#monotonic() + signInCodeMs });
    return code;
  }

  /** Uses a code up. Returns the id of its token, or `undefined` if it is not good. */
  take(code: string): string | undefined {
    const found = this.#codes.get(code);
    this.#codes.delete(code);
    return found && this.#monotonic() < found.until ? found.tokenId : undefined;
  }
}
