import type { JSONRPCMessage, RequestId, Transport } from '@modelcontextprotocol/client';

/** Where the tools of a `tools/list` result wait while the SDK checks the rest of it. */
export const rawTools = Symbol('tools as the server sent them');

/**
 * Makes a transport that is not connected yet set the tools of each list aside: on a 2026 connection the SDK refuses a
 * whole list for one bad tool, whatever schema the caller passes.
 */
export function setToolsAside(transport: Transport): void {
  const listings = new Set<RequestId>();
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if ('method' in message && 'id' in message && message.method === 'tools/list') listings.add(message.id);
    return send(message, options);
  };
  transport.onmessage = (message: JSONRPCMessage) => {
    if ('error' in message && message.id !== undefined) listings.delete(message.id);
    if (!('result' in message) || !listings.delete(message.id)) return;
    const result: Record<PropertyKey, unknown> = message.result;
    if (!Array.isArray(result.tools)) return;
    result[rawTools] = result.tools;
    result.tools = [];
  };
}
