import type { Duplex } from 'node:stream';

/** The most bytes that all unauthenticated connections together may have sent. */
const maxBytes = 8 * 1024 * 1024;

interface Received {
  bytes: number;
  stopCounting: () => void;
}

/**
 * Bounds the connections that have not said `hello`, so that they can displace only each other. If there are too many, the oldest is
 * evicted. If together they sent too much, the one that sent most is evicted.
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

  /** Adds a connection. `source` is the stream of its incoming bytes. */
  add(connection: T, source: Duplex): void {
    const count = (chunk: Buffer): void => this.#count(connection, chunk.length);
    source.on('data', count);
    this.#received.set(connection, { bytes: 0, stopCounting: () => source.off('data', count) });
    const [oldest] = this.#received.keys();
    if (this.#received.size > this.#limit && oldest !== undefined) this.#evict(oldest);
  }

  /** Removes a connection that said `hello` or is over. */
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
