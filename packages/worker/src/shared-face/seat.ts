import { randomBytes } from 'node:crypto';
import { SignalboxError } from '@signalbox/protocol';
import type { TurnRef } from '../mailbox/served/turn-messages.ts';
import type { FaceRefusal } from './face-lines.ts';

/** The token and the messages of the turn that a process takes now. */
export interface SeatTurn {
  readonly token: string;
  readonly turn: TurnRef;
}

/** A session of a shim in one turn. */
interface SeatSession {
  end(reason: FaceRefusal): Promise<void>;
}

/** Told to shims of a process that takes no turn now. */
export const noTurn: FaceRefusal = {
  code: 'no_turn',
  message: 'the agent works on no message now, and its next turn may make calls again',
  retryable: true,
};

/**
 * The place of one process at a shared face, over several turns. Its shims show the key of the place, and have the token of the turn that
 * runs. Between turns they wait, and each call is refused.
 */
export class Seat {
  /** The secret that the shims show in place of a token. */
  readonly key: string = randomBytes(32).toString('base64url');
  readonly #most: number;
  #turn: SeatTurn | undefined;
  #isClosed = false;
  readonly #sessions = new Set<SeatSession>();
  readonly #waiting = new Set<() => void>();
  /** The number of shims when the last turn ended. */
  #known = 0;
  #hasLost = false;
  #onEntered = (): void => {};

  /** `most`: the shims that may wait at a time. */
  constructor(most: number) {
    this.#most = most;
  }

  /** The number of shims that were here when the last turn ended. */
  get known(): number {
    return this.#known;
  }

  /** True if a shim went in the middle of a turn. */
  get hasLost(): boolean {
    return this.#hasLost;
  }

  /** Begins a turn: the shims that wait for one get its token. */
  begin(turn: SeatTurn): void {
    this.#turn = turn;
    this.#wake();
  }

  /** Resolves when as many shims are served as in the last turn, or when the signal is aborted. */
  async entered(signal: AbortSignal): Promise<void> {
    while (this.#sessions.size < this.#known && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onEntered = resolve;
      signal.addEventListener('abort', () => resolve(), { once: true });
      await promise;
    }
  }

  /** Ends the turn, the sessions of its shims and their calls. Resolves when they are closed. */
  async end(): Promise<void> {
    this.#turn = undefined;
    const sessions = [...this.#sessions];
    this.#known = sessions.length;
    await Promise.all(sessions.map((session) => session.end(noTurn)));
  }

  /** Ends the turn, and lets no shim wait any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wake();
    await this.end();
  }

  /** Throws `no_turn` if a turn has ended. */
  requireTurn(turn: SeatTurn): void {
    if (this.#turn !== turn) throw new SignalboxError(noTurn.code, noTurn.message, { retryable: true });
  }

  /** Adds the session of a shim. */
  enter(session: SeatSession): void {
    this.#sessions.add(session);
    this.#onEntered();
  }

  leave(session: SeatSession): void {
    if (this.#sessions.delete(session) && this.#turn !== undefined) this.#hasLost = true;
  }

  /** Returns the turn that runs. */
  get turn(): SeatTurn | undefined {
    return this.#turn;
  }

  /** Resolves with the next turn, or `undefined` if the signal is aborted or the place is closed. Throws if too many wait. */
  async nextTurn(signal: AbortSignal): Promise<SeatTurn | undefined> {
    if (this.#waiting.size >= this.#most)
      throw new SignalboxError('too_many_connections', `${this.#most} connections of this process wait`, {
        retryable: true,
      });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (!this.#isClosed && !signal.aborted && this.#turn === undefined) await promise;
    this.#waiting.delete(resolve);
    return signal.aborted ? undefined : this.#turn;
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
