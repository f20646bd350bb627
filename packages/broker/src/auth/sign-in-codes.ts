import type { TokenRecord } from '@signalbox/store';
import { newSecret } from './token-secret.ts';

/** The lifetime of a code, in milliseconds. */
export const signInCodeMs = 60_000;

/** The most unused codes. Beyond that, the token with the most codes loses its oldest one. */
const maxCodes = 256;

/** Codes with which browsers sign in. Each is valid once and for a minute, and stands for the token of the person who asked for it. */
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

  /** Uses up a code. Returns the id of its token, or `undefined` if the code is not valid. */
  take(code: string): string | undefined {
    const found = this.#codes.get(code);
    this.#codes.delete(code);
    return found && this.#monotonic() < found.until ? found.tokenId : undefined;
  }

  /** Forgets a code of the token that has the most, so that a token with many codes does not displace those of others. */
  #makeRoom(): void {
    const byToken = Map.groupBy(this.#codes, ([, { tokenId }]) => tokenId);
    const [most] = [...byToken.values()].sort((a, b) => b.length - a.length);
    if (most) this.#codes.delete(most[0]![0]);
  }
}
