import { type DefinitionKind, messageOf } from '@signalbox/protocol';
import { type Definition, type DefinitionKey, keyText } from './definition.ts';
import type { DefinitionPins, Pin } from './definition-pins.ts';

/** Why a definition is withheld: it is not the pinned one, or none is pinned. */
export type DefinitionChange = 'changed' | 'new';

/** A definition of a pinned server: what is pinned and what the server offers, one of them at least. */
export interface ComparedDefinition extends DefinitionKey {
  state: 'pinned' | 'gone' | DefinitionChange;
  pin?: Pin;
  offered?: Definition;
}

/** The definitions of one kind that are withheld, by name, with the hash of what the server offers. */
export type ChangedDefinitions = ReadonlyMap<string, { what: DefinitionChange; hash: string }>;

/** Definitions that somebody looked at, and wants to have offered. */
export interface SeenDefinition extends DefinitionKey {
  hash: string;
}

/** Compares what a server offers with its pins. The first list of each kind is pinned. Before the pins are known, everything is withheld. */
export class ServerDefinitions {
  readonly #server: string;
  readonly #store: DefinitionPins;
  readonly #onPinned: (kind: DefinitionKind, count: number) => void;
  #pins = new Map<string, Pin>();
  #seen = new Set<DefinitionKind>();
  #isRead = false;
  /** One list is met after the other, also if several instances of the server show theirs at once. */
  #last: Promise<void> = Promise.resolve();
  readonly #offered = new Map<DefinitionKind, readonly Definition[]>();
  #problem: string | undefined;

  /** `onPinned` is told of definitions that were pinned because they are the first of their kind. */
  constructor(
    server: string,
    store: DefinitionPins,
    onPinned: (kind: DefinitionKind, count: number) => void = () => {},
  ) {
    this.#server = server;
    this.#store = store;
    this.#onPinned = onPinned;
  }

  /** Why definitions could not be pinned; all of them are withheld then. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /**
   * Pins a list of a kind that nobody has seen before. Each list is met before it is reviewed. Never rejects: what can't be written to
   * the disk is withheld, and pinned when it is met again.
   */
  meet(kind: DefinitionKind, offered: readonly Definition[]): Promise<void> {
    this.#last = this.#last.then(() => this.#meet(kind, offered));
    return this.#last;
  }

  /** Reads the pins again, because another host may have changed them. Never rejects: those that were known stay then. */
  readAgain(): Promise<void> {
    this.#last = this.#last.then(() => this.#read());
    return this.#last;
  }

  /** Takes what the server offers of a kind now, and returns which definitions are withheld. */
  review(kind: DefinitionKind, offered: readonly Definition[]): ChangedDefinitions {
    this.#offered.set(kind, offered);
    return changedAmong(this.#pins, offered);
  }

  /** Compares everything that the server offers, or has pinned, in the order of kinds and names. */
  compared(): ComparedDefinition[] {
    const compared = new Map<string, ComparedDefinition>();
    for (const [key, pin] of this.#pins)
      compared.set(key, { kind: pin.kind, name: pin.name, state: 'gone', pin });
    for (const offered of [...this.#offered.values()].flat()) {
      const key = keyText(offered);
      const pin = this.#pins.get(key);
      const state = stateOf(pin, offered);
      compared.set(key, { kind: offered.kind, name: offered.name, state, ...(pin && { pin }), offered });
    }
    return [...compared].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
  }

  /** Reads the definition that is pinned; `undefined` if there is none, or its record is damaged. */
  pinnedValue(key: DefinitionKey): Promise<unknown> {
    return this.#store.definition(this.#server, key);
  }

  /**
   * Pins definitions that the server offers now. If it offers another one than somebody has seen, nothing is pinned, and the keys of
   * those are returned. Rejects with the errors of the store.
   */
  async accept(seen: readonly SeenDefinition[], by: string): Promise<DefinitionKey[]> {
    const offered = new Map([...this.#offered.values()].flat().map((one) => [keyText(one), one]));
    const moved = seen.filter((one) => offered.get(keyText(one))?.hash !== one.hash);
    if (moved.length > 0) return moved.map(({ kind, name }) => ({ kind, name }));
    await this.#pin({ definitions: seen.map((one) => offered.get(keyText(one))!), by });
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

function changedAmong(pins: ReadonlyMap<string, Pin>, offered: readonly Definition[]): ChangedDefinitions {
  const changed = new Map<string, { what: DefinitionChange; hash: string }>();
  for (const one of offered) {
    const state = stateOf(pins.get(keyText(one)), one);
    if (state !== 'pinned') changed.set(one.name, { what: state, hash: one.hash });
  }
  return changed;
}

function stateOf(pin: Pin | undefined, offered: Definition): 'pinned' | DefinitionChange {
  if (!pin) return 'new';
  return !pin.isDamaged && pin.hash === offered.hash ? 'pinned' : 'changed';
}
