import { isDeepStrictEqual } from 'node:util';
import { emptyMcpContent, type McpContentList, type ReadMcpContent } from '../inventory/mcp-content-list.ts';

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
