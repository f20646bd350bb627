import { SignalboxError } from '@signalbox/protocol';
import type { AuthEvent, Authorizer, AuthState } from './authorizer.ts';

/** Tokens are renewed this long before they end, in milliseconds. */
const skewMs = 30_000;

/** An access token. Without a time it is used until it is refused. */
export interface Granted {
  accessToken: string;
  expiresInMs?: number | undefined;
}

export interface TokenAuthorizerOptions {
  server: string;
  /** Gets a new token. Rejects with `needs_auth` or `auth_failed`. */
  grant: () => Promise<Granted>;
  redact: (text: string) => string;
  /** Epoch milliseconds. */
  now: () => number;
  log: (event: AuthEvent) => void;
}

/** Keeps one access token, and lets all who need a new one wait for the same request. */
export class TokenAuthorizer implements Authorizer {
  readonly #options: TokenAuthorizerOptions;
  #state: AuthState = 'idle';
  #held: { header: string; until: number } | undefined;
  #pending: Promise<string> | undefined;
  /** Counts what was forgotten, so that an answer from before is not kept. */
  #era = 0;

  constructor(options: TokenAuthorizerOptions) {
    this.#options = options;
  }

  get state(): AuthState {
    return this.#state;
  }

  redact(text: string): string {
    return this.#options.redact(text);
  }

  async header(signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    if (this.#held && this.#options.now() < this.#held.until) return this.#held.header;
    this.#pending ??= this.#ask();
    return untilAborted(this.#pending, signal);
  }

  renew(rejected: string, signal: AbortSignal): Promise<string> {
    if (this.#held?.header === rejected) this.#held = undefined;
    return this.header(signal);
  }

  refused(rejected: string): SignalboxError {
    if (this.#held?.header === rejected) this.#held = undefined;
    const reason =
      'the server refused a new token, too (HTTP 401): check auth.scope, auth.resource and auth.issuer';
    return this.#fail(new SignalboxError('auth_failed', reason));
  }

  forget(): void {
    this.#era++;
    this.#held = undefined;
    this.#pending = undefined;
    this.#state = 'idle';
  }

  async #ask(): Promise<string> {
    const era = this.#era;
    this.#state = 'connecting';
    const { grant, log, now, server } = this.#options;
    try {
      const { accessToken, expiresInMs = Number.POSITIVE_INFINITY } = await grant();
      const header = `Bearer ${accessToken}`;
      if (era !== this.#era) return header;
      // A token of a minute or less is used for the first half of its life.
      this.#held = { header, until: now() + expiresInMs - Math.min(skewMs, expiresInMs / 2) };
      this.#state = 'ready';
      log({ event: 'auth_ready', server });
      return header;
    } catch (error) {
      throw era === this.#era ? this.#fail(error as SignalboxError) : error;
    } finally {
      if (era === this.#era) this.#pending = undefined;
    }
  }

  #fail(error: SignalboxError): SignalboxError {
    this.#state = error.code === 'needs_auth' ? 'needs_auth' : 'failed';
    const { log, server } = this.#options;
    log({ event: this.#state === 'failed' ? 'auth_failed' : 'auth_needed', server, reason: error.message });
    return error;
  }
}

/** The others who wait for the same are not disturbed. */
async function untilAborted<T>(event: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(signal.reason);
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([event, aborted]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}
