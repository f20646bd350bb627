import { type DefinitionKind, messageOf } from '@signalbox/protocol';
import type { Definition, DefinitionKey, DefinitionPins, Pin } from '@signalbox/store/journal';
import { keyText } from './definition.ts';

/** The reason why a definition is withheld: it differs from the pinned one, or none is pinned. */
export type DefinitionChange = 'changed' | 'new';

/** A definition of a pinned server: the pinned one, the listed one, or both. */
export interface ComparedDefinition extends DefinitionKey {
  state: 'pinned' | 'gone' | DefinitionChange;
  pin?: Pin;
  listed?: Definition;
}

/** The withheld definitions of one kind, by name, with the hash of the listed definition. */
export type ChangedDefinitions = ReadonlyMap<string, { what: DefinitionChange; hash: string }>;

/** A definition that a person has seen and wants to be shown. */
export interface SeenDefinition extends DefinitionKey {
  hash: string;
}

/**
 * Compares a server's definitions with its pins. The first list of each kind is pinned. Before the pins are known, everything is withheld.
 */
export class ServerDefinitions {
  readonly #server: string;
  readonly #store: DefinitionPins;
  readonly #onPinned: (kind: DefinitionKind, count: number) => void;
  #pins = new Map<string, Pin>();
  #seen = new Set<DefinitionKind>();
  #isRead = false;
  /**
   * Resolves when the previous list was met. Lists are met one after the other, even if several instances of the server show theirs at
   * once.
   */
  #last: Promise<void> = Promise.resolve();
  readonly #listed = new Map<DefinitionKind, readonly Definition[]>();
  #problem: string | undefined;

  /** `onPinned` is called with definitions that were pinned because they are the first of their kind. */
  constructor(
    server: string,
    store: DefinitionPins,
    onPinned: (kind: DefinitionKind, count: number) => void = () => {},
  ) {
    this.#server = server;
    this.#store = store;
    this.#onPinned = onPinned;
  }

  /** The reason why definitions could not be pinned; then all of them are withheld. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /**
   * Pins a list of a kind that was not seen before. Each list is met before it is reviewed. Never rejects: definitions that can't be
   * written to the disk are withheld, and pinned when they are met again.
   */
  meet(kind: DefinitionKind, listed: readonly Definition[]): Promise<void> {
    this.#last = this.#last.then(() => this.#meet(kind, listed));
    return this.#last;
  }

  /** Reads the pins again, because another host may have changed them. Never rejects: if that fails, the known pins stay. */
  readAgain(): Promise<void> {
    this.#last = this.#last.then(() => this.#read());
    return this.#last;
  }

  /** Records the server's present definitions of a kind, and returns those that are withheld. */
  review(kind: DefinitionKind, listed: readonly Definition[]): ChangedDefinitions {
    this.#listed.set(kind, listed);
    return changedAmong(this.#pins, listed);
  }

  /** Compares all listed and pinned definitions, in the order of kinds and names. */
  compared(): ComparedDefinition[] {
    const compared = new Map<string, ComparedDefinition>();
    for (const [key, pin] of this.#pins)
      compared.set(key, { kind: pin.kind, name: pin.name, state: 'gone', pin });
    for (const listed of [...this.#listed.values()].flat()) {
      const key = keyText(listed);
      const pin = this.#pins.get(key);
      const state = stateOf(pin, listed);
      compared.set(key, { kind: listed.kind, name: listed.name, state, ...(pin && { pin }), listed });
    }
    return [...compared].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
  }

  /** Reads the pinned definition; `undefined` if there is none, or its record is damaged. */
  pinnedValue(key: DefinitionKey): Promise<unknown> {
    return this.#store.definition(this.#server, key);
  }

  /**
   * Pins definitions that the server lists now. If it lists another one than the person has seen, nothing is pinned, and the keys of
   * these are returned. Rejects with the errors of the store.
   */
  async accept(seen: readonly SeenDefinition[], by: string): Promise<DefinitionKey[]> {
    const listed = new Map([...this.#listed.values()].flat().map((one) => [keyText(one), one]));
    const moved = seen.filter((one) => listed.get(keyText(one))?.hash !== one.hash);
    if (moved.length > 0) return moved.map(({ kind, name }) => ({ kind, name }));
    await this.#pin({ definitions: seen.map((one) => listed.get(keyText(one))!), by });
    return [];
  }

  async #meet(kind: DefinitionKind, definitions: readonly Definition[]): Promise<void> {
    if (!this.#isRead) await this.#read();
    if (!this.#isRead || this.#seen.has(kind)) return;
    try {
      await this.#pin({ definitions, firstOf: kind });
    } catch (thrown) {
      this.#problem = `its definitions could not be pinned, so that they are withheld: ${messageOf(thrown)}`;
      return;
    }
    this.#problem = undefined;
    this.#seen.add(kind);
    if (definitions.length > 0) this.#onPinned(kind, definitions.length);
  }

  async #read(): Promise<void> {
    try {
      const { seen, pins } = await this.#store.of(this.#server);
      this.#seen = new Set(seen);
      this.#pins = new Map(pins.map((pin) => [keyText(pin), pin]));
      this.#isRead = true;
      this.#problem = undefined;
    } catch (thrown) {
      if (!this.#isRead)
        this.#problem = `its pins could not be read, so that its definitions are withheld: ${messageOf(thrown)}`;
    }
  }

  async #pin(pins: Parameters<DefinitionPins['pin']>[1]): Promise<void> {
    for (const pin of await this.#store.pin(this.#server, pins)) this.#pins.set(keyText(pin), pin);
  }
}

function changedAmong(pins: ReadonlyMap<string, Pin>, listed: readonly Definition[]): ChangedDefinitions {
  const changed = new Map<string, { what: DefinitionChange; hash: string }>();
  for (const one of listed) {
    const state = stateOf(pins.get(keyText(one)), one);
    if (state !== 'pinned') changed.set(one.name, { what: state, hash: one.hash });
  }
  return changed;
}

function stateOf(pin: Pin | undefined, listed: Definition): 'pinned' | DefinitionChange {
  if (!pin) return 'new';
  return !pin.isDamaged && pin.hash === listed.hash ? 'pinned' : 'changed';
}
