import type { Slices } from '@signalbox/serving';
import type { WebSocket } from 'ws';

/** The reasons for which nothing is read from a connection: frames or answers that wait, or slices that are over. */
export type PauseReason = 'frames wait' | 'answers wait' | Slices;

/** Pauses a socket for any number of reasons, and resumes it when none is left. */
export class Reading {
  readonly #socket: Pick<WebSocket, 'pause' | 'resume'>;
  readonly #reasons = new Set<PauseReason>();
  #isEnding = false;

  constructor(socket: Pick<WebSocket, 'pause' | 'resume'>) {
    this.#socket = socket;
  }

  /** Pauses the socket, or keeps it paused, for a reason. */
  pause(reason: PauseReason): void {
    if (this.#isEnding) return;
    if (this.#reasons.size === 0) this.#socket.pause();
    this.#reasons.add(reason);
  }

  /** Removes a reason. Resumes the socket if it was the last. */
  resume(reason: PauseReason): void {
    if (this.#reasons.delete(reason) && this.#reasons.size === 0) this.#socket.resume();
  }

  /** Reads everything from now on, because a paused socket would not read the other side's closing handshake. */
  end(): void {
    this.#isEnding = true;
    this.#reasons.clear();
    this.#socket.resume();
  }
}
