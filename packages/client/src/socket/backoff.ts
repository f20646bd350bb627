import type { SignalboxError } from '@signalbox/protocol';
import { backoffMs } from '@signalbox/serving';
import { retryAfterMsOf } from '../errors.ts';

/** The back-off between reconnects. */
const reconnectPolicy = { firstMs: 200, longestMs: 2_000, jitter: 1 };

/** A connection that lasts this long counts as healthy, in milliseconds. */
export const healthyAfterMs = 10_000;
/** Retries stay eager for this long after a healthy connection was lost, in milliseconds. */
export const eagerForMs = 10_000;
/** The longest wait between eager retries, in milliseconds, for each address that was tried. */
export const eagerJitterMs = 250;

const refusalPolicy = { firstMs: 100, longestMs: 2_000, jitter: 1 };

/** Returns the wait before a refused frame is sent again: the time that the broker asked for, or a jittered back-off. */
export function refusalDelayMs(error: SignalboxError, refusals: number, random: number): number {
  const asked = retryAfterMsOf(error);
  // Clients that were refused together must not come again together.
  if (asked !== undefined && refusals === 0) return asked;
  return (asked ?? 20) + backoffMs(refusalPolicy, refusals, random);
}

/**
 * Paces reconnects, in rounds: each of the broker's addresses is tried once without a wait in between, and the wait comes after the
 * round. Only a connection that lasted {@link healthyAfterMs} resets it, never a handshake, so that a broker which accepts and drops
 * clients sees them ever more slowly.
 */
export class ReconnectPacer {
  readonly #addresses: number;
  /** Addresses that were not tried in this round. */
  #untried: number;
  #attempt = 0;
  #eagerUntil = Number.NEGATIVE_INFINITY;

  constructor(addresses = 1) {
    this.#addresses = addresses;
    this.#untried = addresses - 1;
  }

  /** True if every address was tried in this round, or the last one is being tried. */
  get isRoundOver(): boolean {
    return this.#untried === 0;
  }

  /** Notes the loss of a connection that had been welcomed `uptimeMs` ago. */
  lost(uptimeMs: number, now: number): void {
    if (uptimeMs < healthyAfterMs) return;
    this.#attempt = 0;
    this.#untried = this.#addresses - 1;
    this.#eagerUntil = now + eagerForMs;
  }

  /**
   * Returns the wait before the next attempt, which is none before the next address of a round. After a round `minimumMs` is what the
   * broker asked for; jitter comes on top.
   */
  nextDelayMs(now: number, random: number, minimumMs = 0): number {
    if (!this.isRoundOver) {
      this.#untried--;
      return 0;
    }
    this.#untried = this.#addresses - 1;
    if (minimumMs > 0) return minimumMs + random * eagerJitterMs;
    // The brokers are being started, perhaps beside the client: many addresses must not mean many attempts.
    if (now < this.#eagerUntil) return random * eagerJitterMs * this.#addresses;
    return backoffMs(reconnectPolicy, this.#attempt++, random);
  }
}
