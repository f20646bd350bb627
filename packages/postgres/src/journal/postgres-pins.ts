import { type DefinitionKind, definitionKinds, readJson } from '@signalbox/protocol';
import type { DefinitionKey, DefinitionPins, NewPins, Pin, ServerPins } from '@signalbox/store/journal';
import type { PostgresDatabase, Statement } from '../internal.ts';
import type { Changes } from './changes.ts';
import { attempt, keptText } from './journal-error.ts';

/** Keeps pins in the tables of a journal. If several hosts see a server for the first time at once, one of them pins. */
export class PostgresPins implements DefinitionPins {
  readonly #database: PostgresDatabase;
  readonly #changes: Changes;
  readonly #now: () => number;
  readonly #pins: Statement;
  readonly #seen: Statement;
  readonly #definition: Statement;
  readonly #see: Statement;
  readonly #put: Statement;

  constructor(database: PostgresDatabase, changes: Changes, now: () => number) {
    this.#database = database;
    this.#changes = changes;
    this.#now = now;
    this.#pins = database.statement('SELECT pin FROM @definition_pin WHERE server = $1 ORDER BY kind, name');
    this.#seen = database.statement(
      `SELECT kind FROM @definition_sight WHERE server = $1 UNION SELECT kind FROM @definition_pin WHERE server = $1`,
    );
    this.#definition = database.statement(
      'SELECT definition FROM @definition_pin WHERE server = $1 AND kind = $2 AND name = $3',
    );
    this.#see = database.statement(
      'INSERT INTO @definition_sight VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING kind',
    );
    this.#put = database.statement(
      `INSERT INTO @definition_pin
       SELECT $1, kind, name, pin, definition
       FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) AS p(kind, name, pin, definition)
       ON CONFLICT (server, kind, name) DO UPDATE SET pin = excluded.pin, definition = excluded.definition`,
    );
  }

  async of(server: string): Promise<ServerPins> {
    return await attempt(async () => {
      // A kind that is seen has its pins, since both are written in one transaction.
      const seen = await this.#database.read<{ kind: DefinitionKind }>(this.#seen, [server]);
      const pins = await this.#database.read<{ pin: string }>(this.#pins, [server]);
      const kinds = new Set(seen.map(({ kind }) => kind));
      return { seen: definitionKinds.filter((kind) => kinds.has(kind)), pins: pins.map(pinOf) };
    });
  }

  async definition(server: string, { kind, name }: DefinitionKey): Promise<unknown> {
    const values = [server, kind, keptText(name)];
    const [row] = await attempt(() => this.#database.read<{ definition: string }>(this.#definition, values));
    return row && readJson(row.definition);
  }

  async pin(server: string, { definitions, by, firstOf }: NewPins): Promise<readonly Pin[]> {
    const at = this.#now();
    const pins: Pin[] = definitions.map(({ kind, name, hash }) => ({
      ...{ kind, name, hash, at },
      ...(by !== undefined && { by }),
    }));
    // Names that differ only in characters that PostgreSQL can't keep share one row, which holds the last of them.
    const rows = new Map(pins.map((pin, i) => [`${pin.kind} ${keptText(pin.name)}`, i]));
    const kept = [...rows.values()];
    const values = [
      kept.map((i) => pins[i]!.kind),
      kept.map((i) => keptText(pins[i]!.name)),
      kept.map((i) => JSON.stringify(pins[i])),
      kept.map((i) => JSON.stringify(definitions[i]!.value)),
    ];
    return await attempt(() =>
      this.#database.transaction(async (transaction) => {
        const isFirst =
          firstOf === undefined || (await transaction.query(this.#see, [server, firstOf])).length > 0;
        if (!isFirst) {
          const found = await transaction.query<{ pin: string }>(this.#pins, [server]);
          return found.map(pinOf).filter(({ kind }) => kind === firstOf);
        }
        transaction.write(this.#put, [server, ...values]);
        this.#changes.note('pins', transaction);
        return pins;
      }),
    );
  }

  onChanged(listener: () => void): () => void {
    return this.#changes.on('pins', listener);
  }
}

function pinOf({ pin }: { pin: string }): Pin {
  return JSON.parse(pin) as Pin;
}
