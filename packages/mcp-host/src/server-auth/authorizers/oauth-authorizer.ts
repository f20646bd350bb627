import { SignalboxError } from '@signalbox/protocol';
import type { AuthEvent, Authorizer, AuthState } from '../authorizer.ts';

/** The time before its expiry at which a token is renewed, in milliseconds. */
const renewalLeadMs = 30_000;

/** An access token. Without a time it is used until it is refused. */
export interface GrantedToken {
  accessToken: string;
  expiresInMs?: number | undefined;
}

/** Gets a new access token. Rejects with `SignalboxError` `needs_auth` or `auth_failed`. */
export type Grant = () => Promise<GrantedToken>;

/** The options of an {@link OAuthAuthorizer}. */
export interface OAuthAuthorizerOptions {
  server: string;
  grant: Grant;
  secrets: () => readonly string[];
  redact: (text: string) => string;
  /** Returns monotonic milliseconds. */
  now: () => number;
  log: (event: AuthEvent) => void;
}

/** Caches one access token. All requests that need a new one wait for the same grant. */
export class OAuthAuthorizer implements Authorizer {
  readonly #options: OAuthAuthorizerOptions;
  #state: AuthState = 'idle';
  #cached: { header: string; until: number } | undefined;
  #pending: Promise<string> | undefined;
  /** Counts the calls of `forget`, so that a token that was requested before one is not kept. */
  #generation = 0;

  constructor(options: OAuthAuthorizerOptions) {
    this.#options = options;
  }

  get state(): AuthState {
    return this.#state;
  }

  secrets(): readonly string[] {
    return this.#options.secrets();
  }

  redact(text: string): string {
    return this.#options.redact(text);
  }

  async header(signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    if (this.#cached && this.#options.now() < this.#cached.until) return this.#cached.header;
    this.#pending ??= this.#requestToken();
    return untilAborted(this.#pending, signal);
  }

  renew(rejected: string, signal: AbortSignal): Promise<string> {
    this.#drop(rejected);
    return this.header(signal);
  }

  refused(rejected: string): SignalboxError {
    this.#drop(rejected);
    const reason =
      'the server refused a new token, too (HTTP 401): check auth.scope, auth.resource and auth.issuer';
    return this.#fail(new SignalboxError('auth_failed', reason));
  }

  forget(): void {
    this.#generation++;
    this.#cached = undefined;
    this.#pending = undefined;
    this.#state = 'idle';
  }

  #drop(header: string): void {
    if (this.#cached?.header === header) this.#cached = undefined;
  }

  async #requestToken(): Promise<string> {
    const generation = this.#generation;
    this.#state = 'connecting';
    const { grant, log, now, server } = this.#options;
    try {
      const { accessToken, expiresInMs = Number.POSITIVE_INFINITY } = await grant();
      const header = `Bearer ${accessToken}`;
      if (generation !== this.#generation) return header;
      // A token of a minute or less is used for the first half of its life.
      this.#cached = { header, until: now() + expiresInMs - Math.min(renewalLeadMs, expiresInMs / 2) };
      this.#state = 'ready';
      log({ event: 'auth_ready', server });
      return header;
    } catch (error) {
      throw generation === this.#generation ? this.#fail(error as SignalboxError) : error;
    } finally {
      if (generation === this.#generation) this.#pending = undefined;
    }
  }

  #fail(error: SignalboxError): SignalboxError {
    this.#state = error.code === 'needs_auth' ? 'needs_auth' : 'failed';
    const { log, server } = this.#options;
    log({ event: this.#state === 'failed' ? 'auth_failed' : 'auth_needed', server, reason: error.message });
    return error;
  }
}

/** Rejects when the signal aborts; other waits for the same promise continue. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
