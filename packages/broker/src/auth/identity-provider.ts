import type { TokenRecord } from '@signalbox/store';

/** The reason why a token of an identity provider is refused. */
export interface ProviderRefusal {
  message: string;
  /** The milliseconds after which the token may be tried again; set if it could not be checked now. */
  retryAfterMs?: number;
}

/** Checks tokens that an identity provider issued. The record of such a token is not stored; its id begins with `jwt:`. */
export interface IdentityProvider {
  /** The URL that names the provider. */
  readonly issuer: string;
  /** A short hash of the rules by which its tokens are accepted, for the audit log. */
  readonly rulesHash: string;
  /** Returns the record of a token, or the reason why it is not valid. It bounds its simultaneous work. Never rejects. */
  verify(text: string): Promise<{ record: TokenRecord } | { refusal: ProviderRefusal }>;
  /** Tells whether tokens can be checked now, for `/readyz?verbose`. */
  check(): { ok: boolean; detail: string };
}

/** The prefix of the ids of tokens that an identity provider issued. A row in the store with this prefix is a revocation. */
export const providerTokenPrefix = 'jwt:';
