import { isDeepStrictEqual } from 'node:util';
import { emptyMcpContent, type McpContentList, type ReadMcpContent } from '../inventory/mcp-content-list.ts';
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

/** Holds a server's prompts, resources and instructions: of each list, the last one that could be read. */
export class ServerMcpContent {
  #list: McpContentList = emptyMcpContent();
  readonly #told = new Set<'prompts' | 'resources'>();

  /** The present lists; empty while nothing is known. */
  get current(): McpContentList {
    return this.#list;
  }

  /** True once prompts and resources were each read at least once. A server that has none counts as read. */
  get areTold(): boolean {
    return this.#told.size === 2;
  }

  /** True if the prompts were read at least once. */
  get arePromptsTold(): boolean {
    return this.#told.has('prompts');
  }

  /** Takes lists that were read. Lists that could not be read keep their old content. Returns false if nothing has changed. */
  take({ unread, ...read }: ReadMcpContent): boolean {
    const list: McpContentList = { ...read };
    for (const name of ['prompts', 'resources'] as const) if (!unread.includes(name)) this.#told.add(name);
    if (unread.includes('prompts')) {
      const { prompts, sentPrompts } = this.#list;
      Object.assign(list, { prompts, ...(sentPrompts && { sentPrompts }) });
    }
    if (unread.includes('resources')) list.resources = this.#list.resources;
    if (unread.includes('templates')) list.templates = this.#list.templates;
    if (isDeepStrictEqual(list, this.#list)) return false;
    this.#list = list;
    return true;
  }
}
