import { frameLimits } from '@signalbox/protocol';
import type { Clock } from '../clock.ts';
import type { Outbox } from './outbox.ts';

/** The broker accepts one status a second by its own clock. */
const brokerIntervalMs = 1_000;
/** A little longer, because frames are delayed by different times on their way. */
const intervalMs = 1_100;

/** Sends the newest status, at most once a second, and again on each new connection. */
export class Announcer {
  readonly #outbox: Outbox;
  readonly #clock: Clock;
  #status: unknown;
  #sentAt = Number.NEGATIVE_INFINITY;
  #cancelTimer: (() => void) | undefined;
  #connected = false;

  constructor(deps: { outbox: Outbox; clock: Clock }) {
    this.#outbox = deps.outbox;
    this.#clock = deps.clock;
  }

  /** Sets the status and sends it as soon as the rate allows. */
  announce(status: unknown): void {
    this.#status = status;
    if (!this.#connected || this.#cancelTimer !== undefined) return;
    const waitMs = this.#sentAt + intervalMs - this.#clock.now();
    if (waitMs <= 0) this.#send();
    else this.#cancelTimer = this.#clock.startTimer(() => this.#send(), waitMs);
  }

  /** Says how the program behind the connection ended, with its last status. Nothing is sent without a connection. */
  failed(how: string): void {
    if (this.#connected)
      this.#outbox.control({
        type: 'announce',
        status: this.#status ?? null,
        failed: how.slice(0, frameLimits.failedLength),
      });
  }

  /** Sends the newest status again: one frame was delayed on its way, so that two arrived within a second. */
  refused(retryAfterMs: number): void {
    if (!this.#connected || this.#cancelTimer !== undefined) return;
    this.#cancelTimer = this.#clock.startTimer(
      () => this.#send(),
      retryAfterMs + intervalMs - brokerIntervalMs,
    );
  }

  /** Sends the status on a new connection. */
  connected(): void {
    this.#connected = true;
    if (this.#status !== undefined) this.#send();
  }

  /** Stops sending until the next connection. */
  disconnected(): void {
    this.#connected = false;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #send(): void {
    this.#cancelTimer = undefined;
    this.#sentAt = this.#clock.now();
    this.#outbox.control({ type: 'announce', status: this.#status });
  }
}
