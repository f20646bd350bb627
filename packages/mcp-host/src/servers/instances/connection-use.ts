import type { ServerConnection } from '../../sdk/connect-server.ts';

/** Counts the requests on a server's connections, and closes a retired one when its last request has ended. */
export class ConnectionUse {
  readonly #counts = new Map<ServerConnection, number>();
  readonly #retired = new Map<ServerConnection, PromiseWithResolvers<void>>();

  /** Requests under way, on all connections. */
  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** A request begins; {@link release} must follow, once. */
  hold(connection: ServerConnection): void {
    this.#counts.set(connection, (this.#counts.get(connection) ?? 0) + 1);
  }

  release(connection: ServerConnection): void {
    const left = this.#counts.get(connection)! - 1;
    if (left > 0) {
      this.#counts.set(connection, left);
      return;
    }
    this.#counts.delete(connection);
    if (this.#retired.has(connection)) this.#close(connection);
  }

  /** Closes the connection, after the requests that are under way on it. Resolves when it is closed. */
  retire(connection: ServerConnection): Promise<void> {
    const known = this.#retired.get(connection);
    if (known) return known.promise;
    const closed = Promise.withResolvers<void>();
    this.#retired.set(connection, closed);
    if (!this.#counts.has(connection)) this.#close(connection);
    return closed.promise;
  }

  /** Resolves when every retired connection is closed. */
  async retiredClosed(): Promise<void> {
    await Promise.all([...this.#retired.values()].map(({ promise }) => promise));
  }

  /** Closes every retired connection now. */
  async closeRetired(): Promise<void> {
    for (const connection of this.#retired.keys()) this.#close(connection);
    await this.retiredClosed();
  }

  #close(connection: ServerConnection): void {
    const closed = this.#retired.get(connection);
    connection
      .close()
      .catch(() => {})
      .finally(() => {
        this.#retired.delete(connection);
        closed?.resolve();
      });
  }
}
