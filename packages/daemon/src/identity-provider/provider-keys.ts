import { messageOf } from '@signalbox/protocol';
import { boundedText } from '@signalbox/serving';
import { type CryptoKey, createLocalJWKSet, errors, type JWTHeaderParameters } from 'jose';
import { z } from 'zod';

/** Keys older than this are fetched again when they are used. */
const freshMs = 10 * 60_000;
/** Keys older than this are used no more: the provider may have given one up meanwhile. */
const usableMs = 60 * 60_000;
/** The shortest time between two fetches, for all askers together. */
const cooldownMs = 30_000;
/** The most keys that are tried for one token, so that a forged one costs little. */
const mostTried = 16;
const timeoutMs = 5_000;
const maxBytes = 512 * 1024;

const metadataSchema = z.object({ issuer: z.string(), jwks_uri: z.string() });
const keysSchema = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(100) });

type KeySet = ReturnType<typeof createLocalJWKSet>;

/** The keys that an issuer publishes. */
interface PublishedKeys {
  find: KeySet;
  count: number;
}

/** The key of a token is not known now, and may be later: nothing can be said about the token. */
export class KeyUnavailable extends Error {
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** The options of {@link ProviderKeys}. */
export interface ProviderKeysOptions {
  issuer: string;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
  /** Called when a fetch fails after one that did not, and when one succeeds after one that failed; `undefined` for success. */
  onProblem: (problem: string | undefined) => void;
}

/**
 * The public keys of an identity provider, found by its metadata. They are fetched once at a time and at most every 30 seconds, also
 * for tokens that name a key that nobody knows and while the provider does not answer: strangers can't make the broker fetch more.
 */
export class ProviderKeys {
  readonly #options: ProviderKeysOptions;
  #keys: PublishedKeys | undefined;
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  #problem: string | undefined;
  #fetching: Promise<void> | undefined;

  constructor(options: ProviderKeysOptions) {
    this.#options = options;
  }

  /** Tells whether the newest fetch succeeded. Fetches again if the keys are old or missing. */
  check(): { ok: boolean; detail: string } {
    if (!this.#isYounger(freshMs)) void this.refresh();
    const { issuer } = this.#options;
    if (this.#problem !== undefined) return { ok: false, detail: this.#problem };
    if (!this.#keys) return { ok: false, detail: `the keys of ${issuer} are being fetched` };
    return { ok: true, detail: `keys of ${issuer} are known: ${this.#keys.count}` };
  }

  /** Fetches the keys unless that was tried a short time ago. Never rejects. */
  refresh(): Promise<void> {
    if (this.#fetching) return this.#fetching;
    if (this.#cooldownLeftMs > 0) return Promise.resolve();
    this.#triedAt = this.#now;
    this.#fetching = this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  /**
   * Runs `verify` with each key that fits the header of a token, until one of them made its signature. If none did, the keys are fetched
   * again: the provider may have put another key in the place of one of them. Rejects with {@link KeyUnavailable} if no keys are known or
   * if they were fetched before the token came, and else with an error of `jose`.
   */
  async verifyWith<T>(header: JWTHeaderParameters, verify: (key: CryptoKey) => Promise<T>): Promise<T> {
    const askedAt = this.#now;
    if (!this.#isYounger(freshMs)) {
      const refreshed = this.refresh();
      if (!this.#isYounger(usableMs)) await refreshed;
    }
    for (let keys = this.#usable(); ; ) {
      try {
        return await firstThatFits(keys, header, verify);
      } catch (error) {
        if (!isOfKey(error)) throw error;
        await this.refresh();
        const newest = this.#usable();
        if (newest === keys) {
          // Keys that were fetched before the token came say nothing about a key that is new.
          if (this.#fetchedAt >= askedAt) throw error;
          throw this.#unavailable(this.#problem ?? 'none of the known keys made its signature');
        }
        keys = newest;
      }
    }
  }

  get #now(): number {
    return this.#options.monotonic();
  }

  get #cooldownLeftMs(): number {
    return Math.max(0, this.#triedAt + cooldownMs - this.#now);
  }

  #unavailable(why: string): KeyUnavailable {
    const seconds = Math.ceil(this.#cooldownLeftMs / 1000);
    return new KeyUnavailable(
      `${why}; the keys are fetched again in ${seconds} s at the earliest`,
      this.#cooldownLeftMs,
    );
  }

  #usable(): PublishedKeys {
    if (this.#keys && this.#isYounger(usableMs)) return this.#keys;
    throw this.#unavailable(this.#problem ?? `the keys of ${this.#options.issuer} are not known`);
  }

  #isYounger(ms: number): boolean {
    return this.#now - this.#fetchedAt < ms;
  }

  async #fetch(): Promise<void> {
    const { issuer, onProblem } = this.#options;
    const begun = this.#now;
    const before = this.#problem;
    try {
      const keys = await publishedKeys(issuer);
      this.#keys = { find: createLocalJWKSet(keys), count: keys.keys.length };
      this.#fetchedAt = begun;
      this.#problem = undefined;
    } catch (error) {
      this.#problem = `the keys of ${issuer} can't be fetched: ${reasonOf(error)}`;
    }
    if ((this.#problem === undefined) !== (before === undefined)) onProblem(this.#problem);
  }
}

/** Rejects with an error of `jose` if no key fits the header, or if none of those that fit made the signature. */
async function firstThatFits<T>(
  { find }: PublishedKeys,
  header: JWTHeaderParameters,
  verify: (key: CryptoKey) => Promise<T>,
): Promise<T> {
  let mismatch: unknown = new errors.JWKSNoMatchingKey();
  for (const key of await keysFor(header, find)) {
    try {
      return await verify(key);
    } catch (error) {
      if (!isOfKey(error)) throw error;
      mismatch = error;
    }
  }
  throw mismatch;
}

/** Returns the keys that fit a header: several may have the same `kid` or none, and a token may name none. */
async function keysFor(header: JWTHeaderParameters, find: KeySet): Promise<CryptoKey[]> {
  try {
    return [await find(header)];
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    const found: CryptoKey[] = [];
    for await (const key of error) {
      if (found.length === mostTried) throw error;
      found.push(key);
    }
    return found;
  }
}

/** Tells whether another key might have verified the token. A key that can't be used at all is none of the errors of `jose`. */
function isOfKey(error: unknown): boolean {
  return (
    !(error instanceof errors.JOSEError) ||
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWSSignatureVerificationFailed
  );
}

/** Counts the keys that an issuer publishes and that can check our tokens. Rejects with an `Error` that says what is wrong with it. */
export async function usableKeys(issuer: string): Promise<number> {
  try {
    const { keys } = await publishedKeys(issuer);
    const isUsable = ({ kty, crv, use }: Record<string, unknown>): boolean =>
      (use === undefined || use === 'sig') && (kty === 'RSA' || crv === 'P-256' || crv === 'Ed25519');
    return keys.filter(isUsable).length;
  } catch (error) {
    throw new Error(reasonOf(error), { cause: error });
  }
}

async function publishedKeys(issuer: string): Promise<z.infer<typeof keysSchema>> {
  const base = issuer.replace(/\/$/, '');
  const place = `${base}/.well-known/openid-configuration`;
  const metadata = parsed(metadataSchema, await fetchJson(place), place);
  if (metadata.issuer !== issuer)
    throw new Error(`its metadata name the issuer '${metadata.issuer}', not '${issuer}'`);
  if (!sameProtection(metadata.jwks_uri, issuer))
    throw new Error(`its keys at ${metadata.jwks_uri} are not protected by https`);
  return parsed(keysSchema, await fetchJson(metadata.jwks_uri), metadata.jwks_uri);
}

function parsed<T>(schema: z.ZodType<T>, value: unknown, url: string): T {
  const { data, error } = schema.safeParse(value);
  if (!error) return data;
  const { path, message } = error.issues[0]!;
  throw new Error(`${url} answered something else: ${path.join('.')} ${message}`);
}

/** Returns the message of an error, and that of its cause: `fetch` says only there why it failed. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? `: ${messageOf(error.cause)}` : '';
  return `${messageOf(error)}${cause}`;
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
  const { text, isWhole } = await boundedText(response.body, maxBytes);
  if (!isWhole) throw new Error(`${url} answered more than ${maxBytes} bytes`);
  return JSON.parse(text);
}
