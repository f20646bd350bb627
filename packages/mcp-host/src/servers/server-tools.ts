import { isDeepStrictEqual } from 'node:util';
import type { ToolList } from '../inventory/tool-list.ts';

const nothing: ToolList = { tools: [], problems: [] };

/**
 * Holds what is known of a server's tools: its last good list or, until it has listed them, a list that stands in for
 * it.
 */
export class ServerTools {
  #listed: ToolList | undefined;
  #standIn: ToolList | undefined;

  /** `standIn` is the list of the server that this one replaces. */
  constructor(standIn?: ToolList) {
    this.#standIn = standIn;
  }

  /** The list to offer; empty while nothing is known. */
  get current(): ToolList {
    return this.#listed ?? this.#standIn ?? nothing;
  }

  /** Whether anything is known of the tools. */
  get isKnown(): boolean {
    return (this.#listed ?? this.#standIn) !== undefined;
  }

  /** Takes the list of the server's card, to stand in until the server lists its tools. */
  setCard(list: ToolList): void {
    this.#standIn = list;
  }

  /** Takes the list of the server itself. Returns false if nothing is new; then the objects stay the same too. */
  setListed(list: ToolList): boolean {
    if (isDeepStrictEqual(list, this.#listed)) return false;
    this.#listed = list;
    return true;
  }
}
