import type { JSONRPCMessage, RequestId, Transport } from '@modelcontextprotocol/server';
import { isJsonObject } from '@signalbox/protocol';
import type { FaceOffers } from '../tools/face-offers.ts';
import { listensUndeclared, undeclared } from './task-requests.ts';

/** A client's request for a stream of changes (MCP 2026-07-28), with the resources of which it wants to hear. */
interface ListenRequest {
  id: unknown;
  method: 'subscriptions/listen';
  params: { notifications: { resourceSubscriptions: unknown[] } };
}

/** Tells whether a message asks for changes of resources. */
export function listensToResources(message: unknown): message is ListenRequest {
  if (!isJsonObject(message) || message.method !== 'subscriptions/listen' || !isJsonObject(message.params))
    return false;
  const { notifications } = message.params;
  return isJsonObject(notifications) && Array.isArray(notifications.resourceSubscriptions);
}

/**
 * Follows the resources that a request asks for, under `holder`. Resolves with the request for those that the agent may follow: the
 * SDK confirms what is in it.
 */
export async function followListened(
  offers: FaceOffers,
  holder: unknown,
  message: ListenRequest,
): Promise<ListenRequest> {
  const { notifications } = message.params;
  const uris = new Set(notifications.resourceSubscriptions.filter((uri) => typeof uri === 'string'));
  const mayFollow = offers.kinds().resources === true;
  const refused = mayFollow
    ? await offers.follow(holder, uris)
    : new Map([...uris].map((uri) => [uri, undefined]));
  const allowed = [...uris].filter((uri) => !refused.has(uri));
  if (allowed.length < uris.size && mayFollow) void offers.follow(holder, new Set(allowed));
  return {
    ...message,
    params: { ...message.params, notifications: { ...notifications, resourceSubscriptions: allowed } },
  };
}

/** The streams of changes that the client of one connection listens to. It reads messages before the SDK does. */
export class ListenedResources {
  readonly #offers: FaceOffers;
  /** What stands for a stream as a holder, by the id of its request. */
  readonly #holders = new Map<RequestId, object>();

  constructor(offers: FaceOffers, transport: Transport) {
    this.#offers = offers;
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
      // A client that uses an id again can only end the later one.
      this.#end(message.id);
      const holder = {};
      this.#holders.set(message.id as RequestId, holder);
      followListened(offers, holder, message).then(
        (allowed) => onmessage?.(allowed as never, extra),
        () => onmessage?.(message, extra),
      );
    };
  }

  /** Ends all: the connection is closed. */
  close(): void {
    for (const id of [...this.#holders.keys()]) this.#end(id);
  }

  #end(id: unknown): void {
    const holder = this.#holders.get(id as RequestId);
    if (!holder) return;
    this.#holders.delete(id as RequestId);
    void this.#offers.follow(holder, new Set());
  }
}
