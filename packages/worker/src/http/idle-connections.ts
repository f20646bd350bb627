import type { Socket } from 'node:net';

/**
 * Bounds the connections on which no request of a known agent is being answered, so that strangers and idle clients can displace only each
 * other. If there are too many, the one that is idle longest is closed. Its client opens another one when it needs it.
 */
export class IdleConnections {
  readonly #limit: number;
  readonly #idle = new Set<Socket>();
  #evicted = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Adds a connection that was just accepted. It is removed when it is closed. */
  opened(socket: Socket): void {
    socket.once('close', () => this.#idle.delete(socket));
    this.isIdle(socket);
  }

  /** Records that no request is being answered on a connection now. */
  isIdle(socket: Socket): void {
    if (socket.destroyed) return;
    this.#idle.add(socket);
    const [oldest] = this.#idle;
    if (this.#idle.size <= this.#limit || oldest === undefined) return;
    this.#idle.delete(oldest);
    this.#evicted++;
    oldest.destroy();
  }

  /** Records that a connection continues as another one, which was added separately: the encrypted one above it. */
  replaced(socket: Socket): void {
    this.#idle.delete(socket);
  }

  /** Records that a request of a known agent is being answered on a connection now. */
  isBusy(socket: Socket): void {
    this.#idle.delete(socket);
  }

  /** Returns the number of connections that were closed for others since the last call. */
  takeEvicted(): number {
    const evicted = this.#evicted;
    this.#evicted = 0;
    return evicted;
  }
}
