import { backoffMs } from '@signalbox/serving';

/** The waits of a {@link ProgramCircuit}: the first one, and those that follow up to ten minutes or the first one. */
const longestWaitMs = 10 * 60_000;
/** The longest time for which a message is tried without a failed attempt of its own. */
const forgivenMs = 24 * 60 * 60_000;
/** The messages whose first try without an attempt is remembered. */
const maxForgiven = 1_000;

/** A message of a turn, as the circuit knows it. */
export interface CircuitMessage {
  /** Names the message. */
  readonly key: string;
  readonly sender: string;
}

/** A failed turn of a program. */
export interface ProgramFailure {
  /** The first message of the turn. */
  message: CircuitMessage;
  /** The number of this try of the message, 1 the first. */
  attempt: number;
  reason: string;
  /** True if the program itself said that it can work on no message now. */
  isUnavailable: boolean;
}

/** The consequences for the messages of a failed turn. */
export interface FailureVerdict {
  /** The time after which they come again, in milliseconds. */
  retryMs: number;
  /** False if the program is to blame, and not the messages. */
  counts: boolean;
  /** True if the program has been to blame for a day: they are given up. */
  isGivenUp: boolean;
}

export interface ProgramCircuitOptions {
  /** The wait after the first failure, in milliseconds. Each further one doubles it. */
  retryWaitMs: number;
  /** Returns monotonic milliseconds. */
  now: () => number;
  /** Returns a random number: 0 ≤ value < 1. */
  random: () => number;
}

/**
 * Tells a program that fails on every message from a message that makes it fail. After two messages in a row have failed, or when the
 * program says itself that it can't work, it is failing: no turn begins then but one at a time, as a probe. A message of a sender whose
 * messages have not failed is a probe at once, so that no sender's messages stop those of others; any other one is a probe when the wait
 * is over. The first turn that succeeds ends it.
 */
export class ProgramCircuit {
  readonly #options: ProgramCircuitOptions;
  /** The messages that failed since a turn succeeded last: their senders, by key. */
  readonly #failed = new Map<string, string>();
  /** The time of the first try that was not the fault of the message, by key. */
  readonly #forgivenSince = new Map<string, number>();
  #reason: string | undefined;
  #probes = 0;
  #failures = 0;
  #probeAt = 0;

  constructor(options: ProgramCircuitOptions) {
    this.#options = options;
  }

  /** The reason of the newest failure, while the program is failing on every message. */
  get failing(): string | undefined {
    return this.#reason;
  }

  /** The time until any message may be a probe, in milliseconds. */
  get waitMs(): number {
    return Math.max(0, this.#probeAt - this.#options.now());
  }

  /** Chooses the message with which a turn may begin now. */
  choose<Message extends CircuitMessage>(messages: readonly Message[]): Message | undefined {
    if (this.#reason === undefined) return messages[0];
    if (this.#probes > 0) return undefined;
    const senders = new Set(this.#failed.values());
    const other = messages.find(({ sender }) => !senders.has(sender));
    if (other || this.waitMs > 0) return other;
    return messages.find(({ key }) => !this.#failed.has(key)) ?? messages[0];
  }

  /** Notes that a turn begins. Call what it returns when the turn has ended. */
  begin(): () => void {
    if (this.#reason === undefined) return () => {};
    this.#probes++;
    return () => {
      this.#probes--;
    };
  }

  /** Notes that a turn has succeeded. */
  succeeded({ key }: CircuitMessage): void {
    this.#reason = undefined;
    this.#failures = 0;
    this.#failed.clear();
    this.#forgivenSince.delete(key);
  }

  /** Notes that a turn has failed, and decides about its messages. */
  failed({ message, attempt, reason, isUnavailable }: ProgramFailure): FailureVerdict {
    const { now } = this.#options;
    const wasFailing = this.#reason !== undefined;
    this.#failed.delete(message.key);
    this.#failed.set(message.key, message.sender);
    const [oldest] = this.#failed.keys();
    if (this.#failed.size > maxForgiven && oldest !== undefined) this.#failed.delete(oldest);
    if (!wasFailing && !isUnavailable && this.#failed.size === 1)
      return { retryMs: this.#wait(attempt), counts: true, isGivenUp: false };
    this.#reason = reason;
    const retryMs = this.#wait(++this.#failures);
    this.#probeAt = now() + retryMs;
    const counts = !wasFailing && !isUnavailable;
    return { retryMs, counts, isGivenUp: !counts && this.#isForgivenTooLong(message.key) };
  }

  #isForgivenTooLong(key: string): boolean {
    const now = this.#options.now();
    const since = this.#forgivenSince.get(key) ?? now;
    this.#forgivenSince.set(key, since);
    const [oldest] = this.#forgivenSince.keys();
    if (this.#forgivenSince.size > maxForgiven && oldest !== undefined) this.#forgivenSince.delete(oldest);
    return now - since >= forgivenMs;
  }

  /** Returns the wait after failure number `n`, from 1: between half of it and all of it, so that those that failed together come apart. */
  #wait(n: number): number {
    const { retryWaitMs, random } = this.#options;
    const longestMs = Math.max(retryWaitMs, longestWaitMs);
    return backoffMs({ firstMs: retryWaitMs, longestMs, jitter: 0.5 }, n - 1, random());
  }
}
