import { type DefinitionKind, definitionKinds } from '@signalbox/protocol';
import type { Database, Statement } from 'better-sqlite3';
import type { Pin } from '../../journal/definition-pins.ts';
import { rowChecksum } from '../row-checksum.ts';

interface PinRow {
  server: string;
  kind: DefinitionKind;
  name: string;
  hash: string;
  definition: string;
  at: number;
  by: string | null;
  checksum: number;
}

type Value = string | number | null;

const columns = 'server, kind, name, hash, definition, at, by_agent AS by, checksum';

/** Reads and writes the tables of pinned definitions. The caller provides the transactions. */
export class PinTable {
  readonly #ofServer: Statement<[server: string], PinRow>;
  readonly #find: Statement<[server: string, kind: string, name: string], PinRow>;
  readonly #all: Statement<[], PinRow>;
  readonly #sights: Statement<[server: string], DefinitionKind>;
  readonly #insert: Statement<Value[]>;
  readonly #insertSight: Statement<Value[]>;

  constructor(db: Database) {
    this.#ofServer = db.prepare(`SELECT ${columns} FROM definition_pin WHERE server = ?`);
    this.#find = db.prepare(
      `SELECT ${columns} FROM definition_pin WHERE server = ? AND kind = ? AND name = ?`,
    );
    this.#all = db.prepare(`SELECT ${columns} FROM definition_pin`);
    this.#sights = db
      .prepare<[string], DefinitionKind>('SELECT kind FROM definition_sight WHERE server = ?')
      .pluck();
    this.#insert = db.prepare(
      `INSERT OR REPLACE INTO definition_pin (server, kind, name, hash, definition, at, by_agent, checksum)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#insertSight = db.prepare(
      'INSERT INTO definition_sight (server, kind, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    );
  }

  /** Lists the kinds that were seen. A pin shows that its kind was seen, even if the note about it is lost. */
  seen(server: string): DefinitionKind[] {
    const kinds = new Set([...this.#sights.all(server), ...this.pins(server).map(({ kind }) => kind)]);
    return definitionKinds.filter((kind) => kinds.has(kind));
  }

  pins(server: string): Pin[] {
    return this.#ofServer.all(server).map(toPin);
  }

  /** Returns the JSON text of a definition; `undefined` if it is missing or damaged. */
  definition(server: string, kind: DefinitionKind, name: string): string | undefined {
    const row = this.#find.get(server, kind, name);
    return row && isSound(row) ? row.definition : undefined;
  }

  put(server: string, { kind, name, hash, at, by }: Omit<Pin, 'isDamaged'>, definition: string): void {
    const values = [server, kind, name, hash, definition, at, by ?? null];
    this.#insert.run(...values, rowChecksum(...values));
  }

  noteSight(server: string, kind: DefinitionKind, at: number): void {
    this.#insertSight.run(server, kind, at);
  }

  countDamaged(): number {
    let damaged = 0;
    for (const row of this.#all.iterate()) if (!isSound(row)) damaged++;
    return damaged;
  }
}

function toPin(row: PinRow): Pin {
  const { kind, name, hash, at, by } = row;
  return { kind, name, hash, at, ...(by !== null && { by }), ...(!isSound(row) && { isDamaged: true }) };
}

function isSound({ server, kind, name, hash, definition, at, by, checksum }: PinRow): boolean {
  return checksum === rowChecksum(server, kind, name, hash, definition, at, by);
}
