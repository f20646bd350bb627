import type { JSONRPCMessage, RequestId, Transport } from '@modelcontextprotocol/server';
import { isJsonObject } from '@signalbox/protocol';
import type { FaceMcpContent } from '../tools/face-mcp-content.ts';
import { listensUndeclared, undeclared } from './task-requests.ts';

/** A client's request for a stream of changes (MCP 2026-07-28), with the resources whose changes it wants. */
interface ListenRequest {
  id: unknown;
  method: 'subscriptions/listen';
  params: { notifications: { resourceSubscriptions: unknown[] } };
}

/** Returns true if a message asks for changes of resources. */
export function listensToResources(message: unknown): message is ListenRequest {
  if (!isJsonObject(message) || message.method !== 'subscriptions/listen' || !isJsonObject(message.params))
    return false;
  const { notifications } = message.params;
  return isJsonObject(notifications) && Array.isArray(notifications.resourceSubscriptions);
}

/**
 * Follows the resources that a request asks for, under `holder`. Resolves with the request reduced to the resources that the agent may
 * follow: the SDK confirms everything in it.
 */
export async function followListened(
  mcpContent: FaceMcpContent,
  holder: unknown,
  message: ListenRequest,
): Promise<ListenRequest> {
  const { notifications } = message.params;
  const uris = new Set(notifications.resourceSubscriptions.filter((uri) => typeof uri === 'string'));
  const mayFollow = mcpContent.kinds().resources === true;
  const refused = mayFollow
    ? await mcpContent.follow(holder, uris)
    : new Map([...uris].map((uri) => [uri, undefined]));
  const allowed = [...uris].filter((uri) => !refused.has(uri));
  if (allowed.length < uris.size && mayFollow) void mcpContent.follow(holder, new Set(allowed));
  return {
    ...message,
    params: { ...message.params, notifications: { ...notifications, resourceSubscriptions: allowed } },
  };
}

/** The streams of changes that the client of one connection listens to. This class reads messages before the SDK does. */
export class ListenedResources {
  readonly #mcpContent: FaceMcpContent;
  /** The holder of each stream, by the id of its request. */
  readonly #holders = new Map<RequestId, object>();

  constructor(mcpContent: FaceMcpContent, transport: Transport) {
    this.#mcpContent = mcpContent;
    const { onmessage } = transport;
    transport.onmessage = (message, extra) => {
      if ('method' in message && message.method === 'notifications/cancelled')
        this.#end(message.params?.requestId);
      if (listensUndeclared(message)) {
        const refusal = {
          jsonrpc: '2.0',
          id: (message as { id: RequestId }).id,
          error: undeclared().toRpc(),
        };
        transport.send(refusal as JSONRPCMessage).catch(() => {});
        return;
      }
      if (!listensToResources(message)) return onmessage?.(message, extra);
      // If a client uses an id twice, it can only end the later stream.
      this.#end(message.id);
      const holder = {};
      this.#holders.set(message.id as RequestId, holder);
      followListened(mcpContent, holder, message).then(
        (allowed) => onmessage?.(allowed as never, extra),
        () => onmessage?.(message, extra),
      );
    };
  }

  /** Ends all streams, because the connection is closed. */
  close(): void {
    for (const id of [...this.#holders.keys()]) this.#end(id);
  }

  #end(id: unknown): void {
    const holder = this.#holders.get(id as RequestId);
    if (!holder) return;
    this.#holders.delete(id as RequestId);
    void this.#mcpContent.follow(holder, new Set());
  }
}
