import { isJsonObject, normalUri } from '@signalbox/protocol';

const maxLinks = 1000;

/** Remembers the latest resources that results of tools named. The tool is a hint at the server to read them from. */
export class SeenLinks {
  /** The tool by the normal form of the URI, the latest last. */
  readonly #tools = new Map<string, string>();

  /** Records the links of a result. */
  note(tool: string, content: unknown): void {
    if (!Array.isArray(content)) return;
    for (const block of content) {
      if (!isJsonObject(block)) continue;
      const link = block.type === 'resource' ? block.resource : block;
      const isLink = block.type === 'resource' || block.type === 'resource_link';
      if (isLink && isJsonObject(link) && typeof link.uri === 'string') this.#add(link.uri, tool);
    }
  }

  /** Returns the tool whose result named a resource last. */
  toolOf(uri: unknown): string | undefined {
    return typeof uri === 'string' ? this.#tools.get(normalUri(uri)) : undefined;
  }

  #add(spelled: string, tool: string): void {
    const uri = normalUri(spelled);
    this.#tools.delete(uri);
    this.#tools.set(uri, tool);
    if (this.#tools.size > maxLinks) this.#tools.delete(this.#tools.keys().next().value!);
  }
}
