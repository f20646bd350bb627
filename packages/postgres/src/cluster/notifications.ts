import type pg from 'pg';
import { connectClient } from '../database/client.ts';
import { ConnectionLost, toConnectionError } from '../database/connection.ts';
import type { PostgresDatabase } from '../database/database.ts';
import { atFirstServer } from '../database/first-server.ts';
import type { Statement } from '../database/statement.ts';
import { isStandbyError, toStoreError } from '../database/store-errors.ts';
import type { Links, News } from './links.ts';
import { repeat } from './repeat.ts';

/** The time between two looks for messages without a notification, in milliseconds. */
const pollMs = 250;
/** The most characters of a notification. The server takes fewer than 8,000 bytes. */
const maxLength = 7900;
/** The pause before the listening connection is opened again, in milliseconds. */
const reopenMs = 1000;

export interface NotificationsOptions {
  /** The addresses of the servers; the first one that accepts changes is used. There are none behind a pooler. */
  servers: readonly string[];
  /** The incarnation of this broker. */
  incarnation: number;
  /** Called when there may be something for this broker, and every 250 ms. The next call waits until this one has ended. */
  onDue: () => Promise<void>;
  /** Called with news about an inbox. */
  onNews: (news: News & { inbox: string }) => void;
  links: Pick<Links, 'tell'>;
  /**
   * Called after a time without the listening connection: a server that was restarted after a crash has lost what it kept for this broker.
   */
  onMissed: () => void;
}

/**
 * Makes brokers look at once for the rows that others have written for them, or spares them the look by saying what is in the rows. A
 * notification is sent in a statement of its own after the commit: inside the transaction it would make all commits wait for each other. A
 * broker that misses one looks a little later.
 */
export class Notifications implements AsyncDisposable {
  readonly #database: PostgresDatabase;
  readonly #options: NotificationsOptions;
  readonly #send: Statement;
  readonly #polling: AsyncDisposable;
  #listener: pg.Client | undefined;
  #reopening: NodeJS.Timeout | undefined;
  /** The texts of the next notifications, by incarnation. An empty text makes that broker look. */
  #told = new Map<number, Set<string>>();
  #telling: Promise<void> | undefined;
  #looking: Promise<void> | undefined;
  #isDue = false;
  #isClosed = false;

  constructor(database: PostgresDatabase, options: NotificationsOptions) {
    this.#database = database;
    this.#options = options;
    this.#send = database.statement(
      'SELECT pg_notify(channel, news) FROM unnest($1::text[], $2::text[]) AS k(channel, news)',
    );
    this.#polling = repeat(pollMs, () => this.#look());
  }

  /** Begins to listen. Rejects with a `StoreError` if it can't. */
  async listen(): Promise<void> {
    const { servers } = this.#options;
    if (servers.length === 0) return;
    try {
      this.#listener = await atFirstServer(servers, (server) => this.#listenAt(server));
    } catch (error) {
      throw toStoreError(error, this.#database.place);
    }
  }

  async #listenAt(server: string): Promise<pg.Client> {
    let client: pg.Client | undefined;
    try {
      const opened = await connectClient(server);
      client = opened;
      opened.on('notification', ({ payload }) => {
        this.told(payload ? payload.split('\n').map(newsOf) : [{}]);
      });
      opened.on('end', () => this.#lost(opened));
      await opened.query(`LISTEN ${this.#channel(this.#options.incarnation)}`);
      return opened;
    } catch (error) {
      void client?.end().catch(() => {});
      const lost = toConnectionError(error);
      throw isStandbyError(lost) ? new ConnectionLost('it is a standby') : lost;
    }
  }

  /**
   * Tells the broker of an incarnation news, or that it must look: over a link, or else in a notification, without messages. Calls during
   * the sending of a notification go into the next one.
   */
  notify(incarnation: number, news: readonly News[] = [{}]): void {
    if (this.#options.links.tell(incarnation, news)) return;
    const told = this.#told.get(incarnation) ?? new Set();
    for (const { row, inbox } of news) told.add(inbox === undefined ? '' : `${row} ${inbox}`);
    this.#told.set(incarnation, told);
    this.#telling ??= this.#tell();
  }

  async #tell(): Promise<void> {
    // Calls of one turn of the event loop share a notification.
    await Promise.resolve();
    while (this.#told.size > 0) {
      const told = [...this.#told].flatMap(([incarnation, news]) =>
        payloadsOf(news).map((payload) => ({ channel: this.#channel(incarnation), payload })),
      );
      this.#told = new Map();
      const values = [told.map(({ channel }) => channel), told.map(({ payload }) => payload)];
      await this.#database.read(this.#send, values).catch(() => {});
    }
    this.#telling = undefined;
  }

  /** Handles news of another broker. */
  told(news: readonly News[]): void {
    for (const { inbox, ...what } of news)
      if (inbox === undefined) this.#look().catch(() => {});
      else this.#options.onNews({ inbox, ...what });
  }

  #channel(incarnation: number): string {
    return `sbx_${this.#database.schema}_${incarnation}`;
  }

  #look(): Promise<void> {
    this.#isDue = true;
    this.#looking ??= this.#handle().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /** Looks again as long as notifications came meanwhile. */
  async #handle(): Promise<void> {
    while (this.#isDue && !this.#isClosed) {
      this.#isDue = false;
      await this.#options.onDue();
    }
  }

  #lost(client: pg.Client): void {
    if (this.#isClosed || this.#listener !== client) return;
    this.#listener = undefined;
    this.#reopen();
  }

  #reopen(): void {
    this.#reopening = setTimeout(() => {
      this.listen().then(
        () => this.#options.onMissed(),
        () => this.#isClosed || this.#reopen(),
      );
    }, reopenMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#reopening);
    await this.#polling[Symbol.asyncDispose]();
    await this.#looking?.catch(() => {});
    await this.#telling;
    await this.#listener?.end().catch(() => {});
  }
}

/** Reads a line of a notification. */
function newsOf(line: string): News {
  const [row, inbox = ''] = line.split(' ');
  return { row: Number(row), inbox };
}

/** Joins news to as few notifications as there may be. An empty one is one of its own, and comes last. */
function payloadsOf(news: ReadonlySet<string>): string[] {
  const payloads: string[] = [];
  for (const one of news) {
    const last = payloads.at(-1);
    if (one === '') continue;
    if (last !== undefined && last.length + one.length < maxLength)
      payloads[payloads.length - 1] = `${last}\n${one}`;
    else payloads.push(one);
  }
  return news.has('') ? [...payloads, ''] : payloads;
}
