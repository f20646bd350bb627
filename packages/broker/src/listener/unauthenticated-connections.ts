import type { Duplex } from 'node:stream';

/** All unauthenticated connections together may have sent so much. */
const maxBytes = 8 * 1024 * 1024;

interface Received {
  bytes: number;
  stopCounting: () => void;
}

/**
 * Bounds the connections that have not said hello. They can crowd out only each other: of too many the oldest is
 * evicted, and when together they sent too much, the one that sent most.
 */
export class UnauthenticatedConnections<T> {
  readonly #limit: number;
  readonly #evict: (connection: T) => void;
  readonly #received = new Map<T, Received>();
  #bytes = 0;

  /** `evict` ends a connection and removes it here. */
  constructor(limit: number, evict: (connection: T) => void) {
    this.#limit = limit;
    this.#evict = evict;
  }

  /** `source`: the bytes that come in on the connection. */
  add(connection: T, source: Duplex): void {
    const count = (chunk: Buffer): void => this.#count(connection, chunk.length);
    source.on('data', count);
    this.#received.set(connection, { bytes: 0, stopCounting: () => source.off('data', count) });
    const [oldest] = this.#received.keys();
    if (this.#received.size > this.#limit && oldest !== undefined) this.#evict(oldest);
  }

  /** The connection said hello, or it is over. */
  remove(connection: T): void {
    const received = this.#received.get(connection);
    if (!received) return;
    this.#received.delete(connection);
    this.#bytes -= received.bytes;
    received.stopCounting();
  }

  #count(connection: T, bytes: number): void {
    const received = this.#received.get(connection);
    if (!received) return;
    received.bytes += bytes;
    this.#bytes += bytes;
    if (this.#bytes <= maxBytes) return;
    const [most] = [...this.#received].reduce((a, b) => (b[1].bytes > a[1].bytes ? b : a));
    this.#evict(most);
  }
}
