import type { JSONRPCMessage, RequestId, Transport } from '@modelcontextprotocol/client';
import { isInputRequired } from '@signalbox/protocol';

/** Where the tools of a `tools/list` result wait while the SDK checks the rest of it. */
export const rawTools = Symbol('tools as the server sent them');

/** Where an `input_required` result waits while the SDK sees a complete one. */
export const rawResult = Symbol('result as the server sent it');

/**
 * Makes a transport that is not connected yet set aside what the SDK would spoil on a 2026 connection, whatever schema the
 * caller passes: it refuses a whole list for one bad tool, and rebuilds `input_required` results from what it knows of them.
 */
export function setResultsAside(transport: Transport): void {
  const listings = new Set<RequestId>();
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if ('method' in message && 'id' in message && message.method === 'tools/list') listings.add(message.id);
    return send(message, options);
  };
  transport.onmessage = (message: JSONRPCMessage) => {
    if ('error' in message && message.id !== undefined) listings.delete(message.id);
    if (!('result' in message)) return;
    const isListing = listings.delete(message.id);
    const result: Record<PropertyKey, unknown> = message.result;
    if (isListing && Array.isArray(result.tools)) {
      result[rawTools] = result.tools;
      result.tools = [];
    } else if (!isListing && isInputRequired(result)) {
      Object.assign(message, { result: { resultType: 'complete', content: [], [rawResult]: result } });
    }
  };
}
