import { isDeepStrictEqual } from 'node:util';
import type { ToolList } from '../inventory/tool-list.ts';

const nothing: ToolList = { tools: [], problems: [] };

/** What is known of a server's tools: its last good list or, until it has listed, what stands in for it. */
export class ServerTools {
  #listed: ToolList | undefined;
  #standIn: ToolList | undefined;

  /** `standIn`: the list of the server whose place this one takes. */
  constructor(standIn?: ToolList) {
    this.#standIn = standIn;
  }

  get current(): ToolList {
    return this.#listed ?? this.#standIn ?? nothing;
  }

  get isKnown(): boolean {
    return (this.#listed ?? this.#standIn) !== undefined;
  }

  /** What the server's card says. */
  promise(list: ToolList): void {
    this.#standIn = list;
  }

  /** What the server itself says. False if that is nothing new; then the objects stay the same too. */
  list(list: ToolList): boolean {
    if (isDeepStrictEqual(list, this.#listed)) return false;
    this.#listed = list;
    return true;
  }
}
