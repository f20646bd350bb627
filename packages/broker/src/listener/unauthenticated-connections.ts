import type { Duplex } from 'node:stream';

/** What all strangers together may have sent without having said hello. */
const maxBytes = 8 * 1024 * 1024;

interface Stranger {
  bytes: number;
  forget: () => void;
}

/**
 * Connections that have not said hello. They can crowd out only each other: of too many the oldest goes, and when
 * together they sent too much, the one that sent most.
 */
export class UnauthenticatedConnections<T> {
  readonly #limit: number;
  readonly #evict: (connection: T) => void;
  readonly #strangers = new Map<T, Stranger>();
  #bytes = 0;

  constructor(limit: number, evict: (connection: T) => void) {
    this.#limit = limit;
    this.#evict = evict;
  }

  add(connection: T, source: Duplex): void {
    const hear = (chunk: Buffer): void => this.#hear(connection, chunk.length);
    source.on('data', hear);
    this.#strangers.set(connection, { bytes: 0, forget: () => source.off('data', hear) });
    const [oldest] = this.#strangers.keys();
    if (this.#strangers.size > this.#limit && oldest !== undefined) this.#evict(oldest);
  }

  /** It said hello, or it is gone. */
  remove(connection: T): void {
    const stranger = this.#strangers.get(connection);
    if (!stranger) return;
    this.#strangers.delete(connection);
    this.#bytes -= stranger.bytes;
    stranger.forget();
  }

  #hear(connection: T, bytes: number): void {
    const stranger = this.#strangers.get(connection);
    if (!stranger) return;
    stranger.bytes += bytes;
    this.#bytes += bytes;
    if (this.#bytes <= maxBytes) return;
    const most = [...this.#strangers].reduce((a, b) => (b[1].bytes > a[1].bytes ? b : a));
    this.#evict(most[0]);
  }
}
