import { isDeepStrictEqual } from 'node:util';
import type { ToolList } from '../inventory/tool-list.ts';

const nothing: ToolList = { tools: [], problems: [] };

/**
 * Holds the tools of a server: the last list that could be read or, until the server has listed them, the list of its card or of the server
 * that it replaces.
 */
export class ServerTools {
  #listed: ToolList | undefined;
  #standIn: ToolList | undefined;

  /** `standIn` is the list of the server that this one replaces. */
  constructor(standIn?: ToolList) {
    this.#standIn = standIn;
  }

  /** The list to show; empty while nothing is known. */
  get current(): ToolList {
    return this.#listed ?? this.#standIn ?? nothing;
  }

  /** True if any list of the tools is known. */
  get isKnown(): boolean {
    return (this.#listed ?? this.#standIn) !== undefined;
  }

  /** Takes the list of the server's card, which is shown until the server lists its tools. */
  setCard(list: ToolList): void {
    this.#standIn = list;
  }

  /** Takes the list of the server itself. Returns false, and keeps the present objects, if it is the same list. */
  setListed(list: ToolList): boolean {
    if (isDeepStrictEqual(list, this.#listed)) return false;
    this.#listed = list;
    return true;
  }
}
