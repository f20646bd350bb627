import type { Clock } from '../clock.ts';
import type { Outbox } from './outbox.ts';

/** The broker takes one status a second by its own clock. */
const brokerEveryMs = 1_000;
/** The rest is for jitter on the way. */
const everyMs = 1_100;

/** Keeps the newest status, sends at most one a second, and says it again on each new connection. */
export class Announcer {
  readonly #outbox: Outbox;
  readonly #clock: Clock;
  #status: unknown;
  #sentAt = Number.NEGATIVE_INFINITY;
  #cancelTimer: (() => void) | undefined;
  #connected = false;

  constructor(ports: { outbox: Outbox; clock: Clock }) {
    this.#outbox = ports.outbox;
    this.#clock = ports.clock;
  }

  announce(status: unknown): void {
    this.#status = status;
    if (!this.#connected || this.#cancelTimer !== undefined) return;
    const waitMs = this.#sentAt + everyMs - this.#clock.now();
    if (waitMs <= 0) this.#send();
    else this.#cancelTimer = this.#clock.startTimer(() => this.#send(), waitMs);
  }

  /** The broker took two announcements for too near to each other: one was held up on its way. The newest is said again. */
  refused(retryAfterMs: number): void {
    if (!this.#connected || this.#cancelTimer !== undefined) return;
    this.#cancelTimer = this.#clock.startTimer(() => this.#send(), retryAfterMs + everyMs - brokerEveryMs);
  }

  connected(): void {
    this.#connected = true;
    if (this.#status !== undefined) this.#send();
  }

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
