import type { CallerElsewhere, PresencePort, PresenceQuery, PresentCaller } from '@signalbox/store';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import { incarnationLives } from './living-brokers.ts';
import { repeat } from './repeat.ts';

/** The time between two writes of changes, in milliseconds. */
const writeMs = 250;
/** The most rows of one statement. */
const rowsAtOnce = 256;

/** The fields of a caller that no query searches. */
type Details = Pick<PresentCaller, 'address' | 'connectedAt'> & { status?: unknown };

/**
 * Writes the callers of this broker, and reads those of others. The rows count while their incarnation lives. They are in a table that a
 * crash of the server or a promotion empties.
 */
export class Presence
  implements Pick<PresencePort, 'present' | 'absent' | 'elsewhere' | 'connectedElsewhere'>, AsyncDisposable
{
  readonly #database: PostgresDatabase;
  readonly #incarnation: number;
  readonly #save: Statement;
  readonly #drop: Statement;
  readonly #page: Statement;
  readonly #connected: Statement;
  readonly #callers = new Map<string, PresentCaller>();
  /** The keys of callers that connected, announced a status, or disconnected. */
  #changed = new Set<string>();
  readonly #writing: AsyncDisposable;

  constructor(database: PostgresDatabase, incarnation: number) {
    this.#database = database;
    this.#incarnation = incarnation;
    this.#save = database.statement(
      `INSERT INTO @presence (key, incarnation, agent, role, details)
       SELECT key, $1, agent, role, details FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) AS k(key, agent, role, details)
       ON CONFLICT (key) DO UPDATE SET details = excluded.details`,
    );
    this.#drop = database.statement('DELETE FROM @presence WHERE key = ANY($1::text[])');
    this.#page = database.statement(
      `SELECT p.key, p.agent, p.role, p.details, s.broker FROM @presence p JOIN @incarnation s ON s.epoch = p.incarnation
       WHERE p.key > $1 AND p.incarnation <> $2 AND ${incarnationLives} AND ($3::text IS NULL OR p.role = $3)
         AND ($4::text[] IS NULL OR p.role LIKE ANY($4::text[])) AND ($6::text IS NULL OR p.agent = $6) ORDER BY p.key LIMIT $5`,
    );
    this.#connected = database.statement(
      `SELECT DISTINCT p.agent FROM @presence p JOIN @incarnation s ON s.epoch = p.incarnation
       WHERE p.agent = ANY($1::text[]) AND p.incarnation <> $2 AND ${incarnationLives}`,
    );
    this.#writing = repeat(writeMs, () => this.#write());
  }

  present(caller: PresentCaller): void {
    this.#callers.set(caller.key, caller);
    this.#changed.add(caller.key);
  }

  absent(key: string): void {
    if (this.#callers.delete(key)) this.#changed.add(key);
  }

  async elsewhere({ after, limit, role, agent, roles }: PresenceQuery): Promise<CallerElsewhere[]> {
    const values = [
      after,
      this.#incarnation,
      role ?? null,
      roles?.map(likePattern) ?? null,
      limit,
      agent ?? null,
    ];
    type Row = { key: string; agent: string; role: string; details: string; broker: string };
    const rows = await this.#database.read<Row>(this.#page, values);
    return rows.map(({ details, ...row }) => {
      const { address, connectedAt, status } = JSON.parse(details) as Details;
      return { ...row, address, connectedAt, status };
    });
  }

  async connectedElsewhere(agents: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#database.read<{ agent: string }>(this.#connected, [agents, this.#incarnation]);
    return new Set(rows.map(({ agent }) => agent));
  }

  /** Makes all rows be written again. */
  rewrite(): void {
    for (const key of this.#callers.keys()) this.#changed.add(key);
  }

  /** Writes the changes. Those that could not be written are written the next time. */
  async #write(): Promise<void> {
    while (this.#changed.size > 0) {
      const keys = [...this.#changed].slice(0, rowsAtOnce);
      for (const key of keys) this.#changed.delete(key);
      const [there, gone] = [
        keys.flatMap((key) => this.#callers.get(key) ?? []),
        keys.filter((key) => !this.#callers.has(key)),
      ];
      try {
        if (there.length > 0)
          await this.#database.read(this.#save, [
            this.#incarnation,
            there.map(({ key }) => key),
            there.map(({ agent }) => agent),
            there.map(({ role }) => role),
            there.map(detailsOf),
          ]);
        if (gone.length > 0) await this.#database.read(this.#drop, [gone]);
      } catch (error) {
        for (const key of keys) this.#changed.add(key);
        throw error;
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writing[Symbol.asyncDispose]();
  }
}

function detailsOf({ address, connectedAt, status }: PresentCaller): string {
  const details: Details = { address, connectedAt, status };
  return JSON.stringify(details);
}

/** Converts a pattern of a role with `*` at its end to one of `LIKE`. */
function likePattern(pattern: string): string {
  return pattern.replace(/[\\_%]/g, '\\$&').replace(/\*$/, '%');
}
