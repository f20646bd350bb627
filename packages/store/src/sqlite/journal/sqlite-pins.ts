import { readJson } from '@signalbox/protocol';
import type {
  DefinitionKey,
  DefinitionPins,
  NewPins,
  Pin,
  ServerPins,
} from '../../journal/definition-pins.ts';
import type { PinTable } from './pin-table.ts';

/** Keeps pins in the tables of a journal. */
export class SqlitePins implements DefinitionPins {
  readonly #table: PinTable;
  readonly #write: (action: () => void) => void;
  readonly #attempt: <T>(action: () => T) => T;
  readonly #now: () => number;

  /** `write` runs its action, which is on disk when it returns; `attempt` converts the errors of SQLite to errors of the journal. */
  constructor(
    table: PinTable,
    write: (action: () => void) => void,
    attempt: <T>(action: () => T) => T,
    now: () => number = Date.now,
  ) {
    this.#table = table;
    this.#write = write;
    this.#attempt = attempt;
    this.#now = now;
  }

  async of(server: string): Promise<ServerPins> {
    return this.#attempt(() => ({ seen: this.#table.seen(server), pins: this.#table.pins(server) }));
  }

  async definition(server: string, { kind, name }: DefinitionKey): Promise<unknown> {
    const text = this.#attempt(() => this.#table.definition(server, kind, name));
    return text === undefined ? undefined : readJson(text);
  }

  async pin(server: string, { definitions, by, firstOf }: NewPins): Promise<Pin[]> {
    const at = this.#now();
    const pins = definitions.map(({ kind, name, hash }) => ({
      ...{ kind, name, hash, at },
      ...(by !== undefined && { by }),
    }));
    let found: Pin[] | undefined;
    this.#write(() => {
      if (firstOf && this.#table.seen(server).includes(firstOf)) {
        found = this.#table.pins(server).filter(({ kind }) => kind === firstOf);
        return;
      }
      for (const [i, pin] of pins.entries())
        this.#table.put(server, pin, JSON.stringify(definitions[i]!.value));
      if (firstOf) this.#table.noteSight(server, firstOf, at);
    });
    return found ?? pins;
  }

  /** Does nothing: no other host uses the journal. */
  onChanged(): () => void {
    return () => {};
  }
}
