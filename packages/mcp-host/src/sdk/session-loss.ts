import { ProtocolErrorCode } from '@modelcontextprotocol/client';
import type { Failure } from '../tool-calls/index.ts';
import { failureOf } from './sdk-failure.ts';

/** Records that a session has stopped taking requests, and why. */
export class SessionLoss {
  /** True if the session takes no requests any more. */
  isLost = false;
  readonly #reason = Promise.withResolvers<string>();

  /** Resolves with the reason for the loss. */
  get reason(): Promise<string> {
    return this.#reason.promise;
  }

  /** Marks the session as lost; only the first reason counts. */
  lose(reason: string): void {
    this.isLost = true;
    this.#reason.resolve(reason);
  }
}

/**
 * Asks a server that answered a request with an error whether it knows the session, and loses the session if not. The specification wants
 * 404 for an unknown session; servers also answer 200, 401, 410, 500 or 503, or with an error for the request.
 */
export class SessionCheck {
  readonly #loss: SessionLoss;
  readonly #saysUnknown: (failure: Failure) => boolean;
  readonly #ping: () => Promise<unknown>;
  readonly #known: { refusesPing?: boolean };
  #isAsking = false;

  /** `saysUnknown` returns true for a failure of `ping` that means that the session is unknown. */
  constructor(
    loss: SessionLoss,
    saysUnknown: (failure: Failure) => boolean,
    ping: () => Promise<unknown>,
    known: { refusesPing?: boolean },
  ) {
    this.#loss = loss;
    this.#saysUnknown = saysUnknown;
    this.#ping = ping;
    this.#known = known;
  }

  /** Asks by `ping`, unless an answer is awaited already, or the server refuses that in each session. */
  async ask(): Promise<void> {
    if (this.#loss.isLost || this.#known.refusesPing) return;
    if (!(await this.#isRefused())) return;
    this.#known.refusesPing = false;
    this.#loss.lose('the server does not know the session any more');
  }

  /** Asks in a new session if an earlier one was lost. Otherwise callers of a tool could end one session after the other. */
  async begin(): Promise<void> {
    if (this.#known.refusesPing !== false) return;
    this.#known.refusesPing = await this.#isRefused();
  }

  async #isRefused(): Promise<boolean> {
    if (this.#isAsking) return false;
    this.#isAsking = true;
    try {
      await this.#ping();
      return false;
    } catch (thrown) {
      return this.#saysUnknown(failureOf(thrown));
    } finally {
      this.#isAsking = false;
    }
  }
}

/**
 * Reads the failure of a server behind HTTP. One that does not know the method knows the session. One that is late or overloaded may know
 * it.
 */
export function refusesSession(failure: Failure): boolean {
  switch (failure.kind) {
    case 'answered':
      return failure.code !== ProtocolErrorCode.MethodNotFound && failure.retryAfterSeconds === undefined;
    case 'refused':
      return failure.status !== 408 && failure.status !== 429;
    default:
      return failure.kind === 'bad_answer';
  }
}

/**
 * Reads the failure of a process, which may be a bridge to a server behind HTTP, such as mcp-remote. While that server can't be reached, the
 * bridge fails, too, and may keep its session: only its words tell.
 */
export function namesSession(failure: Failure): boolean {
  return failure.kind === 'answered' && isAboutSession(failure.reason);
}

export function isAboutSession(words: string): boolean {
  return /\bsession\b/i.test(words);
}
