import type { Server } from '@modelcontextprotocol/server';
import type { FaceMcpContent } from '../tools/face-mcp-content.ts';
import { rpcErrorOf } from '../tools/hosted-mcp-content.ts';
import { invalidParams, JsonRpcError } from '../tools/json-rpc-error.ts';

const methods = ['resources/subscribe', 'resources/unsubscribe'];

/** The subscriptions of one client of the revisions up to 2025-11-25, which asks for each resource by a request. */
export class LegacySubscriptions {
  readonly #server: Server;
  readonly #mcpContent: FaceMcpContent;
  readonly #uris = new Set<string>();
  #stop: (() => void) | undefined;

  constructor(server: Server, mcpContent: FaceMcpContent) {
    this.#server = server;
    this.#mcpContent = mcpContent;
    server.onclose = () => this.#end();
  }

  /** Returns true if a method belongs to subscriptions, and the agent may have some. */
  knows(method: string): boolean {
    return methods.includes(method) && this.#mcpContent.kinds().resources === true;
  }

  /** Answers a request that {@link knows} knows. Rejects with `JsonRpcError` if the agent may not follow the resource. */
  async answer(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> {
    const { uri } = params;
    if (typeof uri !== 'string')
      throw new JsonRpcError(invalidParams, 'uri: it must be the URI of a resource');
    if (method === 'resources/subscribe') this.#uris.add(uri);
    else this.#uris.delete(uri);
    this.#stop ??= this.#mcpContent.onUpdated((updated) => {
      if (this.#uris.has(updated)) this.#server.sendResourceUpdated({ uri: updated }).catch(() => {});
    });
    const refused = (await this.#mcpContent.follow(this, new Set(this.#uris))).get(uri);
    if (!refused || method === 'resources/unsubscribe') return {};
    this.#uris.delete(uri);
    void this.#mcpContent.follow(this, new Set(this.#uris));
    throw rpcErrorOf(refused, { method, params });
  }

  #end(): void {
    this.#stop?.();
    if (this.#uris.size > 0) void this.#mcpContent.follow(this, new Set());
    this.#uris.clear();
  }
}
