import type { TokenRecord } from '@signalbox/store';

/** The reason why a token of an identity provider is refused. */
export interface ProviderRefusal {
  message: string;
  /** Given if the token could not be checked now: the milliseconds after which it may be tried again. */
  retryAfterMs?: number;
}

/** Checks tokens that an identity provider issued. The record of one is not stored, and its id begins with `jwt:`. */
export interface IdentityProvider {
  /** The URL that names the provider. */
  readonly issuer: string;
  /** A short hash of the rules by which its tokens are accepted, for the audit log. */
  readonly rulesHash: string;
  /** Returns the record of a token, or why it is not good. It bounds the work that it does at a time. Never rejects. */
  verify(text: string): Promise<{ record: TokenRecord } | { refusal: ProviderRefusal }>;
  /** Tells whether tokens can be checked now, for `/readyz?verbose`. */
  check(): { ok: boolean; detail: string };
}

/** The beginning of the ids of tokens that an identity provider issued. A row in the store with such an id is a revocation. */
export const providerTokenPrefix = 'jwt:';
