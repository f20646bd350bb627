import type { CancelSignal } from '@signalbox/client';
import { isJsonObject, isPageUri, maxPages, pageToolReplySchema } from '@signalbox/protocol';
import { type Asker, askOrchestrator } from '../executor/orchestrator-question.ts';
import { internalError, invalidParams, JsonRpcError } from './json-rpc-error.ts';

const timeoutMs = 10_000;

/** The dependencies of {@link ReadPages}. */
export interface ReadPagesDeps {
  asker: Asker;
  /** Tells whether the agent sees a tool of this name. */
  isListed: (name: string) => boolean;
}

/**
 * The pages of MCP Apps that an agent's client has read. A page calls the tools of its server by the names that this server gives them, so
 * the client asks for these names.
 */
export class ReadPages {
  /** True if the client has read a page. Nearly all calls look at this alone. */
  hasAny = false;
  readonly #deps: ReadPagesDeps;
  /** Their URIs, the one that was read last at the end. */
  readonly #uris = new Set<string>();

  constructor(deps: ReadPagesDeps) {
    this.#deps = deps;
  }

  /** Remembers a resource that the client has read, if it is a page. */
  note(uri: unknown): void {
    if (typeof uri !== 'string' || !isPageUri(uri)) return;
    this.#uris.delete(uri);
    this.#uris.add(uri);
    this.hasAny = true;
    if (this.#uris.size > maxPages) this.#uris.delete(this.#uris.values().next().value!);
  }

  /**
   * Returns the full name of the tool that a call means. A name that the agent does not see may be one that a
   * page uses. A call that names its page in `_meta` means a tool of that page's server. Rejects with `JsonRpcError` if the name fits
   * several tools.
   */
  async toolOf(name: string, { meta, signal }: { meta: unknown; signal: CancelSignal }): Promise<string> {
    const page = pageNamedBy(meta);
    if (page !== undefined && this.#uris.has(page)) return await this.#find(name, [page], signal);
    return this.#deps.isListed(name) ? name : await this.#find(name, [...this.#uris], signal);
  }

  async #find(name: string, pages: readonly string[], signal: CancelSignal): Promise<string> {
    const asked = { op: 'page_tool', name, pages };
    const { result, error } = await askOrchestrator(this.#deps.asker, asked, { timeoutMs, signal });
    if (error) throw new JsonRpcError(internalError, `no tool was found for '${name}': ${error.message}`);
    const { data } = pageToolReplySchema.safeParse(result);
    const [tool = name, ...others] = data?.tools ?? [];
    if (others.length === 0) return tool;
    const all = [tool, ...others].join(', ');
    throw new JsonRpcError(invalidParams, `'${name}' may be any of these tools: ${all}. Call one of them.`);
  }
}

/** Returns the page that a request names as the one that it comes from. */
function pageNamedBy(meta: unknown): string | undefined {
  if (!isJsonObject(meta)) return undefined;
  const uri = isJsonObject(meta.ui) ? meta.ui.resourceUri : meta['ui/resourceUri'];
  return typeof uri === 'string' ? uri : undefined;
}
