import type { DefinitionKind } from '@signalbox/protocol';

/** A server's own description of one of its tools or prompts, or of itself, as it sent it. */
export interface Definition {
  kind: DefinitionKind;
  name: string;
  /** A text that differs for any two definitions that differ; the order of the fields of an object makes no difference. */
  hash: string;
  value: unknown;
}

/** Names one definition of a server. */
export interface DefinitionKey {
  kind: DefinitionKind;
  name: string;
}

/** A definition that is shown while its server lists exactly this one. */
export interface Pin extends DefinitionKey {
  hash: string;
  /** Epoch milliseconds. */
  at: number;
  /** The operator that accepted it; absent if it was pinned when it was seen first. */
  by?: string;
  /** True if its record is damaged. Then no definition matches it. */
  isDamaged?: true;
}

/** The pins of one server. */
export interface ServerPins {
  /** The kinds of definitions that were seen before. A definition of another kind is pinned at its first sight. */
  seen: readonly DefinitionKind[];
  pins: readonly Pin[];
}

/** Definitions that are to be pinned together. */
export interface NewPins {
  definitions: readonly Definition[];
  /** The operator that accepts them. */
  by?: string;
  /** The kind that was seen for the first time, if that is the reason for the pins. */
  firstOf?: DefinitionKind;
}

/** Keeps pins on disk. Its methods reject with a `SignalboxError` if that fails. */
export interface DefinitionPins {
  /** Reads the pins of a server. */
  of(server: string): Promise<ServerPins>;
  /** Reads the definition of a pin; `undefined` if there is none, or its record is damaged. */
  definition(server: string, key: DefinitionKey): Promise<unknown>;
  /**
   * Replaces pins of a server, or adds some. Resolves with them when they are on disk. If another host saw the kind first, nothing is
   * written, and it resolves with the pins of that host.
   */
  pin(server: string, pins: NewPins): Promise<readonly Pin[]>;
  /** Calls `listener` when another host may have changed pins of any server. Returns a function that removes the listener. */
  onChanged(listener: () => void): () => void;
}
