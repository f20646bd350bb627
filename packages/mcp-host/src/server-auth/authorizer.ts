import type { SignalboxError } from '@signalbox/protocol';

/**
 * The access to one HTTP server, which outlives the connections to it. `header` and `renew` reject with `SignalboxError`
 * `needs_auth` (a person has to sign in) or `auth_failed`.
 */
export interface Authorizer {
  readonly state: AuthState;
  /** Returns the value of the `Authorization` header. Tokens are cached until shortly before they expire. */
  header(signal: AbortSignal): Promise<string>;
  /** Returns a new value after the server answered 401 to `rejected`. Requests that were rejected together share one renewal. */
  renew(rejected: string, signal: AbortSignal): Promise<string>;
  /** Returns the error with which a request ends when the server answered 401 to a renewed value, too. */
  refused(rejected: string): SignalboxError;
  /** Drops the cached token, because somebody may have signed in or out. The next request asks for a new one. */
  forget(): void;
  /** Returns the secrets and the last tokens of this access. */
  secrets(): readonly string[];
  /** Removes every secret and token of this access from a text. */
  redact(text: string): string;
}

/** The state of the access to one server. `needs_auth`: a person has to sign in. */
export type AuthState = 'idle' | 'connecting' | 'ready' | 'needs_auth' | 'failed';

/** One line for the log: `event` names the event, the other fields are its facts. */
export interface AuthEvent {
  event: string;
  [fact: string]: unknown;
}
