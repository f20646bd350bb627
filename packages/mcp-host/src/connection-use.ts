import type { Connection } from './connection.ts';

/** Counts the requests on a server's connections, and closes a retired one when its last request has ended. */
export class ConnectionUse {
  readonly #counts = new Map<Connection, number>();
  readonly #retired = new Set<Connection>();
  readonly #closing = new Set<Promise<void>>();

  /** Requests under way, on all connections. */
  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  async run<T>(connection: Connection, request: () => Promise<T>): Promise<T> {
    this.#counts.set(connection, (this.#counts.get(connection) ?? 0) + 1);
    try {
      return await request();
    } finally {
      const left = this.#counts.get(connection)! - 1;
      if (left > 0) this.#counts.set(connection, left);
      else {
        this.#counts.delete(connection);
        if (this.#retired.has(connection)) this.#close(connection);
      }
    }
  }

  /** Closes the connection, after the requests that are under way on it. */
  retire(connection: Connection): void {
    this.#retired.add(connection);
    if (!this.#counts.has(connection)) this.#close(connection);
  }

  /** Closes every retired connection now. */
  async closeRetired(): Promise<void> {
    for (const connection of [...this.#retired]) this.#close(connection);
    await Promise.all(this.#closing);
  }

  #close(connection: Connection): void {
    this.#retired.delete(connection);
    const closing = connection.close().finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}
