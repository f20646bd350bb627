import type { SignalboxError } from '@signalbox/protocol';

/** Where the sign-in to one server stands. `needs_auth`: a person has to sign in. */
export type AuthState = 'idle' | 'connecting' | 'ready' | 'needs_auth' | 'failed';

/** The access to one HTTP server; it outlives the connections to it. Both calls reject with `SignalboxError` `needs_auth` or `auth_failed`. */
export interface Authorizer {
  readonly state: AuthState;
  /** Value of the `Authorization` header; cached until shortly before it expires. */
  header(signal: AbortSignal): Promise<string>;
  /** A new value after the server answered 401 to `rejected`. Requests that were rejected together share one renewal. */
  renew(rejected: string, signal: AbortSignal): Promise<string>;
  /** The server answered 401 to a renewed value, too: the error to end the request with. */
  refused(rejected: string): SignalboxError;
  /** Drops what is cached: somebody may have signed in or out. The next request asks anew. */
  forget(): void;
  /** Takes every secret and token of this access out of a text. */
  redact(text: string): string;
}

/** One line for the log. `event` says what happened, the rest are its facts. */
export interface AuthEvent {
  event: string;
  [fact: string]: unknown;
}
