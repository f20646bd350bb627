import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** The most bytes that all unauthenticated WebSockets together may have sent. */
const maxBytes = 8 * 1024 * 1024;

/** An unauthenticated WebSocket. */
interface Stranger {
  address: string;
  bytes: number;
  /** Ends the connection. */
  end: () => void;
  stopCounting: () => void;
}

/**
 * Limits the connections that have not said `hello`, so that they can displace only each other. A connection counts from the moment when it
 * is accepted, whether or not it becomes a WebSocket. If there are too many, the oldest one of the address with the most is evicted. It is
 * one that is not a WebSocket if those are more than half, since they are the cheapest to make. If together they sent too much, the one
 * that sent the most is evicted.
 */
export class UnauthenticatedConnections {
  readonly #limit: number;
  readonly #onEvicted: () => void;
  /** The connections that are not WebSockets yet, with the addresses of their clients, from the oldest to the newest. */
  readonly #plain = new Map<Duplex, string>();
  /** The WebSockets, by their sockets. */
  readonly #webSockets = new Map<Duplex, Stranger>();
  readonly #ofAddress = new Map<string, number>();
  #bytes = 0;

  /** `onEvicted` is called for each connection that must make room. */
  constructor(limit: number, onEvicted: () => void) {
    this.#limit = limit;
    this.#onEvicted = onEvicted;
  }

  /** The number of these connections. */
  get size(): number {
    return this.#plain.size + this.#webSockets.size;
  }

  /** Adds a connection that was just accepted. It is removed when it is closed. */
  add(socket: Duplex): void {
    const address = (socket as Partial<Socket>).remoteAddress ?? 'this machine';
    this.#plain.set(socket, address);
    this.#ofAddress.set(address, (this.#ofAddress.get(address) ?? 0) + 1);
    socket.once('close', () => this.remove(socket));
    if (this.size > this.#limit) this.#makeRoom();
  }

  /** Notes that a connection is a WebSocket now, which `end` ends, and counts its incoming bytes. HTTP bounds the earlier ones. */
  upgraded(socket: Duplex, end: () => void): void {
    const address = this.#plain.get(socket);
    if (address === undefined) return;
    this.#plain.delete(socket);
    const stranger: Stranger = { address, bytes: 0, end, stopCounting: () => socket.off('data', count) };
    const count = (chunk: Buffer): void => this.#count(stranger, chunk.length);
    socket.on('data', count);
    this.#webSockets.set(socket, stranger);
  }

  /** Removes a connection that said `hello`, that has ended, or that continues as another one. */
  remove(socket: Duplex): void {
    const stranger = this.#webSockets.get(socket);
    const address = this.#plain.get(socket) ?? stranger?.address;
    if (address === undefined) return;
    this.#forget(address);
    this.#plain.delete(socket);
    if (!stranger) return;
    this.#webSockets.delete(socket);
    this.#bytes -= stranger.bytes;
    stranger.stopCounting();
  }

  /** Ends the connections that are not WebSockets. A WebSocket can be closed with a handshake instead. */
  endPlain(): void {
    for (const socket of [...this.#plain.keys()]) socket.destroy();
  }

  /** Ends all unauthenticated connections. */
  endAll(): void {
    for (const socket of [...this.#plain.keys(), ...this.#webSockets.keys()]) this.#end(socket);
  }

  #makeRoom(): void {
    const [greediest] = [...this.#ofAddress].reduce((a, b) => (b[1] > a[1] ? b : a));
    const crowd = this.#plain.size > this.#limit / 2 ? this.#plain : this.#webSockets;
    let oldest: Duplex | undefined;
    for (const [socket, from] of crowd) {
      oldest ??= socket;
      if ((typeof from === 'string' ? from : from.address) !== greediest) continue;
      oldest = socket;
      break;
    }
    if (oldest !== undefined) this.#evict(oldest);
  }

  #forget(address: string): void {
    const left = (this.#ofAddress.get(address) ?? 0) - 1;
    if (left > 0) this.#ofAddress.set(address, left);
    else this.#ofAddress.delete(address);
  }

  #evict(socket: Duplex): void {
    this.#onEvicted();
    this.#end(socket);
  }

  #end(socket: Duplex): void {
    const end = this.#webSockets.get(socket)?.end;
    this.remove(socket);
    if (end) end();
    else socket.destroy();
  }

  #count(stranger: Stranger, bytes: number): void {
    stranger.bytes += bytes;
    this.#bytes += bytes;
    if (this.#bytes <= maxBytes) return;
    const [most] = [...this.#webSockets].reduce((a, b) => (b[1].bytes > a[1].bytes ? b : a));
    this.#evict(most);
  }
}
