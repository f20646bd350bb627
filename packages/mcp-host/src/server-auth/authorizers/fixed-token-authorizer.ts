import { SignalboxError } from '@signalbox/protocol';
import { redactorOf } from '../../redaction/index.ts';
import type { Authorizer, AuthState } from '../authorizer.ts';

/** Sends a fixed token. If the server refuses it, there is no other one. */
export class FixedTokenAuthorizer implements Authorizer {
  readonly #token: string;
  readonly #header: string;
  readonly #redact: (text: string) => string;
  #state: AuthState = 'idle';

  constructor(token: string) {
    this.#token = token;
    this.#header = `Bearer ${token}`;
    this.#redact = redactorOf([token]);
  }

  get state(): AuthState {
    return this.#state;
  }

  async header(): Promise<string> {
    if (this.#state === 'idle') this.#state = 'ready';
    return this.#header;
  }

  async renew(): Promise<string> {
    throw this.refused();
  }

  refused(): SignalboxError {
    this.#state = 'failed';
    return new SignalboxError('auth_failed', 'the server refused the token (HTTP 401): check auth.token');
  }

  forget(): void {
    this.#state = 'idle';
  }

  secrets(): readonly string[] {
    return [this.#token];
  }

  redact(text: string): string {
    return this.#redact(text);
  }
}
