import type { DefinitionKind } from '@signalbox/protocol';
import type { Definition, DefinitionKey } from './definition.ts';

/** A definition that is offered as long as its server offers exactly this one. */
export interface Pin extends DefinitionKey {
  hash: string;
  /** Epoch milliseconds. */
  at: number;
  /** The operator that accepted it; absent if it was pinned when it was seen first. */
  by?: string;
  /** True if its record is damaged: no definition is as pinned then. */
  isDamaged?: true;
}

/** The pins of one server. */
export interface ServerPins {
  /** The kinds of definitions that were seen before. Those of another kind are pinned when they are seen first. */
  seen: readonly DefinitionKind[];
  pins: readonly Pin[];
}

/** Definitions that are to be pinned together. */
export interface NewPins {
  definitions: readonly Definition[];
  /** The operator that accepts them. */
  by?: string;
  /** The kind that was seen for the first time, if that is why. */
  firstOf?: DefinitionKind;
}

/** Keeps pins on disk. Its methods reject with a `SignalboxError` if that fails. */
export interface DefinitionPins {
  /** Reads what is pinned of a server. */
  of(server: string): Promise<ServerPins>;
  /** Reads the definition of a pin; `undefined` if there is none, or its record is damaged. */
  definition(server: string, key: DefinitionKey): Promise<unknown>;
  /**
   * Replaces pins of a server, or adds some. Resolves with them when they are on disk. If another host was the first that saw the kind,
   * nothing is written, and it resolves with the pins of that one.
   */
  pin(server: string, pins: NewPins): Promise<readonly Pin[]>;
  /** Calls `listener` when another host may have changed pins of any server. Returns the function that unsubscribes it. */
  onChanged(listener: () => void): () => void;
}
