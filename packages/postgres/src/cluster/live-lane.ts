import type { LiveMessage } from '@signalbox/store';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import { incarnationLives } from './living-brokers.ts';
import type { Notifications } from './notifications.ts';

/** The most messages that wait for one broker. Further ones are lost, as in the live lane of a connection. */
const maxWaiting = 10_000;
/** The most messages that are read at once. */
const readBatch = 256;

/** Passes messages that are not stored to the broker that holds their inbox, in a table that a crash of the server empties. */
export class LiveLane {
  readonly #database: PostgresDatabase;
  readonly #incarnation: number;
  readonly #notifications: Pick<Notifications, 'notify'>;
  readonly #send: Statement;
  readonly #tell: Statement;
  readonly #take: Statement;

  constructor(database: PostgresDatabase, incarnation: number, notifications: Pick<Notifications, 'notify'>) {
    this.#database = database;
    this.#incarnation = incarnation;
    this.#notifications = notifications;
    this.#send = database.statement(
      `WITH holder AS (
         SELECT s.epoch AS incarnation FROM @inbox i JOIN @incarnation s ON s.epoch = i.incarnation OR s.epoch = ANY(i.members)
         WHERE i.name = $1 AND s.epoch <> $2 AND NOT s.is_over
         ORDER BY EXISTS (SELECT FROM @key_member k WHERE k.inbox = $1 AND k.key = $5::text AND k.incarnation = s.epoch) DESC, s.epoch LIMIT 1
       ), sent AS (
         INSERT INTO @live (incarnation, inbox, header, body) SELECT incarnation, $1, $3, $4 FROM holder
         WHERE (SELECT count(*) FROM (SELECT FROM @live l, holder h WHERE l.incarnation = h.incarnation LIMIT ${maxWaiting}) w) < ${maxWaiting}
       ) SELECT incarnation FROM holder`,
    );
    this.#tell = database.statement(
      `INSERT INTO @live (incarnation, inbox, header) SELECT s.epoch, '', $2 FROM @incarnation s
       WHERE ${incarnationLives} AND s.epoch <> $1 AND ($3::text IS NULL OR s.broker = $3)
         AND (SELECT count(*) FROM (SELECT FROM @live l WHERE l.incarnation = s.epoch LIMIT ${maxWaiting}) w) < ${maxWaiting}
       RETURNING incarnation`,
    );
    this.#take = database.statement(
      `DELETE FROM @live WHERE id = ANY(ARRAY(SELECT id FROM @live WHERE incarnation = $1 ORDER BY id LIMIT ${readBatch}))
       RETURNING id, inbox, header, body`,
    );
  }

  /** Sends a message to the broker that holds an inbox. Resolves with false if no other broker does. */
  async send(inbox: string, { header, body }: LiveMessage, sender: string): Promise<boolean> {
    const values = [
      inbox,
      this.#incarnation,
      Buffer.from(header),
      body === undefined ? null : Buffer.from(body),
      sender,
    ] as const;
    const holders = await this.#database.read<{ incarnation: number }>(this.#send, values);
    for (const { incarnation } of holders) this.#notifications.notify(incarnation);
    return holders.length > 0;
  }

  /** Sends a text to all other brokers, or to the one that is named. {@link take} yields it without an inbox. */
  async tellBrokers(text: string, to: string | undefined): Promise<void> {
    const values = [this.#incarnation, Buffer.from(text), to ?? null];
    const told = await this.#database.read<{ incarnation: number }>(this.#tell, values);
    for (const { incarnation } of told) this.#notifications.notify(incarnation);
  }

  /** Takes the messages that wait for this broker, in the order in which they were sent. */
  async *take(): AsyncGenerator<{ inbox: string; message: LiveMessage }> {
    for (;;) {
      const rows = await this.#database.read<{
        id: number;
        inbox: string;
        header: Buffer;
        body: Buffer | null;
      }>(this.#take, [this.#incarnation]);
      rows.sort((one, other) => one.id - other.id);
      for (const { inbox, header, body } of rows)
        yield { inbox, message: { header: header.toString(), body: body?.toString() } };
      if (rows.length < readBatch) return;
    }
  }
}
