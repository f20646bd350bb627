import type { Duplex } from 'node:stream';

/** The most bytes that all unauthenticated WebSockets together may have sent. */
const maxBytes = 8 * 1024 * 1024;

interface Unauthenticated {
  bytes: number;
  isPlain: boolean;
  /** Ends the connection. */
  end: () => void;
  stopCounting: () => void;
}

/**
 * Bounds the connections that have not said `hello`, so that they can displace only each other. A connection counts from the moment
 * when it is accepted, whether it ever becomes a WebSocket or not. If there are too many, the oldest is evicted. If together they sent
 * too much, the one that sent most is evicted.
 */
export class UnauthenticatedConnections {
  readonly #limit: number;
  readonly #onEvicted: () => void;
  readonly #connections = new Map<Duplex, Unauthenticated>();
  #bytes = 0;

  /** `onEvicted` is called for each connection that has to make room. */
  constructor(limit: number, onEvicted: () => void) {
    this.#limit = limit;
    this.#onEvicted = onEvicted;
  }

  /** Adds a connection that was just accepted. It is removed when it is closed. */
  add(socket: Duplex): void {
    this.#connections.set(socket, {
      bytes: 0,
      isPlain: true,
      end: () => socket.destroy(),
      stopCounting: () => {},
    });
    socket.once('close', () => this.remove(socket));
    const [oldest] = this.#connections.keys();
    if (this.#connections.size > this.#limit && oldest !== undefined) this.#evict(oldest);
  }

  /** Notes that a connection is a WebSocket now, which `end` ends, and counts its incoming bytes. HTTP bounds those that came before. */
  upgraded(socket: Duplex, end: () => void): void {
    const connection = this.#connections.get(socket);
    if (!connection) return;
    const count = (chunk: Buffer): void => this.#count(connection, chunk.length);
    socket.on('data', count);
    connection.isPlain = false;
    connection.end = end;
    connection.stopCounting = () => socket.off('data', count);
  }

  /** Removes a connection that said `hello` or is over. */
  remove(socket: Duplex): void {
    const connection = this.#connections.get(socket);
    if (!connection) return;
    this.#connections.delete(socket);
    this.#bytes -= connection.bytes;
    connection.stopCounting();
  }

  /** Ends those that are no WebSocket, which could be closed in an orderly way. */
  endPlain(): void {
    for (const [socket, { isPlain }] of [...this.#connections]) if (isPlain) socket.destroy();
  }

  /** Ends all of them. */
  endAll(): void {
    for (const socket of [...this.#connections.keys()]) this.#end(socket);
  }

  #evict(socket: Duplex): void {
    this.#onEvicted();
    this.#end(socket);
  }

  #end(socket: Duplex): void {
    const connection = this.#connections.get(socket);
    this.remove(socket);
    connection?.end();
  }

  #count(connection: Unauthenticated, bytes: number): void {
    connection.bytes += bytes;
    this.#bytes += bytes;
    if (this.#bytes <= maxBytes) return;
    const [most] = [...this.#connections].reduce((a, b) => (b[1].bytes > a[1].bytes ? b : a));
    this.#evict(most);
  }
}
