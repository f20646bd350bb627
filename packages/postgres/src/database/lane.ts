import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import { Connection, ConnectionLost } from './connection.ts';
import { atFirstServer } from './first-server.ts';

/** The age at which connections are opened again, in milliseconds, so that the server drops statements that are no longer used. */
const maxAgeMs = 30 * 60 * 1000;
const firstPauseMs = 50;
const longestPauseMs = 500;

/** The way in which connections of a database are opened. */
export interface LaneDeps {
  /** The addresses of the servers; the first one that accepts changes is used. */
  servers: readonly string[];
  config: pg.ClientConfig;
  /** True if its statements find their rows by indexes. */
  usesIndexes: boolean;
  /** The time for which lost connections are opened again before callers are refused, in milliseconds. */
  patienceMs: number;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
  /** Called with each new connection. Throws if the connection can't be used. */
  onOpened: (connection: Connection) => void;
}

/** One connection at a time, which is opened when it is needed, and again after it was lost. */
export class Lane {
  readonly #deps: LaneDeps;
  #connection: Connection | undefined;
  #opening: Promise<Connection> | undefined;
  /** The time since which there is no connection, in monotonic milliseconds. */
  #lostAt: number | undefined;
  #isEnding = false;
  #isClosed = false;

  constructor(deps: LaneDeps) {
    this.#deps = deps;
  }

  /** True while another attempt makes sense: the connection was lost a short time ago. */
  get isPatient(): boolean {
    const { monotonic, patienceMs } = this.#deps;
    return this.#lostAt === undefined || (!this.#isEnding && monotonic() - this.#lostAt < patienceMs);
  }

  /**
   * Returns the connection. Callers that wait share one attempt to open it. Rejects with `ConnectionLost` when the patience is over;
   * from then on each call makes one attempt.
   */
  async connection(): Promise<Connection> {
    if (this.#isClosed) throw new Error('the store is closed');
    const { monotonic } = this.#deps;
    const known = this.#connection;
    if (known && !known.isLost && monotonic() - known.openedAt < maxAgeMs) return known;
    if (known) {
      this.#connection = undefined;
      if (known.isLost) this.#lostAt ??= monotonic();
      else void known.close();
    }
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** Runs a read, and repeats it if the connection is lost meanwhile. */
  async read<T>(run: (connection: Connection) => Promise<T>): Promise<T> {
    for (;;) {
      const connection = await this.connection();
      try {
        return await run(connection);
      } catch (thrown) {
        if (!(thrown instanceof ConnectionLost) || !this.isPatient) throw thrown;
      }
    }
  }

  /** Stops waiting for a server that can't be reached. */
  hurry(): void {
    this.#isEnding = true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#opening?.catch(() => {});
    await this.#connection?.close();
  }

  async #openAt(server: string): Promise<Connection> {
    const { config, usesIndexes, monotonic, onOpened } = this.#deps;
    const settings = { usesIndexes, openedAt: monotonic() };
    const connection = await Connection.open(server, config, settings);
    try {
      onOpened(connection);
      return connection;
    } catch (thrown) {
      await connection.close();
      throw thrown;
    }
  }

  async #open(): Promise<Connection> {
    const { servers, monotonic } = this.#deps;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      try {
        const connection = await atFirstServer(servers, (server) => this.#openAt(server));
        this.#connection = connection;
        this.#lostAt = undefined;
        return connection;
      } catch (thrown) {
        if (!(thrown instanceof ConnectionLost)) throw thrown;
        this.#lostAt ??= monotonic();
        if (!this.isPatient || this.#isClosed) throw thrown;
        await wait(pauseMs);
      }
    }
  }
}
