import { messageOf } from '@signalbox/protocol';
import { createLocalJWKSet, errors, type FlattenedJWSInput, type JWTHeaderParameters } from 'jose';
import { z } from 'zod';

/** Keys older than this are fetched again when they are used. */
const freshMs = 10 * 60_000;
/** Keys older than this are used no more: the provider may have given one up meanwhile. */
const usableMs = 60 * 60_000;
/** The shortest time between two fetches, for all askers together. */
const cooldownMs = 30_000;
const timeoutMs = 3_000;
const maxBytes = 512 * 1024;

const metadataSchema = z.object({ issuer: z.string(), jwks_uri: z.string() });
const keysSchema = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(100) });

type KeySet = ReturnType<typeof createLocalJWKSet>;

/** The keys are not there, so that nothing can be said about a token. */
export class KeysUnavailable extends Error {}

/**
 * The public keys of an identity provider, found by its metadata. They are fetched once at a time and at most every 30 seconds, also
 * for tokens that name a key that nobody knows and while the provider does not answer: strangers can't make the broker fetch more.
 */
export class ProviderKeys {
  readonly #issuer: string;
  readonly #monotonic: () => number;
  #keys: KeySet | undefined;
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  #problem = 'not fetched yet';
  #fetching: Promise<void> | undefined;

  /** `monotonic` returns milliseconds. */
  constructor(issuer: string, monotonic: () => number) {
    this.#issuer = issuer;
    this.#monotonic = monotonic;
  }

  /** The reason why the keys are not known or may be old, or `undefined`. */
  get problem(): string | undefined {
    return this.#isYounger(freshMs + cooldownMs) ? undefined : this.#problem;
  }

  /** Fetches the keys unless that was tried a short time ago. Never rejects; {@link problem} tells. */
  refresh(): Promise<void> {
    if (this.#fetching) return this.#fetching;
    if (this.#monotonic() - this.#triedAt < cooldownMs) return Promise.resolve();
    this.#triedAt = this.#monotonic();
    this.#fetching = this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  /** Returns the key of a token, as `jwtVerify` asks for it. Rejects with {@link KeysUnavailable} if no keys are known. */
  readonly find = async (header: JWTHeaderParameters, token: FlattenedJWSInput): ReturnType<KeySet> => {
    if (!this.#isYounger(freshMs)) {
      const refreshed = this.refresh();
      if (!this.#isYounger(usableMs)) await refreshed;
    }
    try {
      return await this.#usable()(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await this.refresh();
      return await this.#usable()(header, token);
    }
  };

  #usable(): KeySet {
    if (this.#keys && this.#isYounger(usableMs)) return this.#keys;
    throw new KeysUnavailable(this.#problem);
  }

  #isYounger(ms: number): boolean {
    return this.#monotonic() - this.#fetchedAt < ms;
  }

  async #fetch(): Promise<void> {
    const begun = this.#monotonic();
    try {
      const base = this.#issuer.replace(/\/$/, '');
      const metadata = metadataSchema.parse(await fetchJson(`${base}/.well-known/openid-configuration`));
      if (metadata.issuer !== this.#issuer)
        throw new Error(`its metadata name the issuer '${metadata.issuer}', not '${this.#issuer}'`);
      if (!sameProtection(metadata.jwks_uri, this.#issuer))
        throw new Error(`its keys at ${metadata.jwks_uri} are not protected by https`);
      this.#keys = createLocalJWKSet(keysSchema.parse(await fetchJson(metadata.jwks_uri)));
      this.#fetchedAt = begun;
      this.#problem = 'too old';
    } catch (error) {
      this.#problem = `the keys of ${this.#issuer} can't be fetched: ${messageOf(error)}`;
    }
  }
}

function sameProtection(url: string, issuer: string): boolean {
  return URL.parse(url)?.protocol === 'https:' || (issuer.startsWith('http:') && url.startsWith(issuer));
}

async function fetchJson(url: string): Promise<unknown> {
  const response = await fetch(url, {
    redirect: 'error',
    headers: { accept: 'application/json' },
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  let text = '';
  const decoder = new TextDecoder();
  for await (const part of response.body ?? []) {
    text += decoder.decode(part as Uint8Array, { stream: true });
    if (text.length > maxBytes) throw new Error(`${url} answered more than ${maxBytes} bytes`);
  }
  return JSON.parse(text);
}
