import type { JSONRPCMessage, RequestId, Transport } from '@modelcontextprotocol/client';
import { isInputRequired } from '@signalbox/protocol';

/** The property of a `tools/list` result that holds the tools as the server sent them. */
export const rawTools = Symbol('tools as the server sent them');

/** The property of a call's result that holds an `input_required` result as the server sent it. */
export const rawResult = Symbol('result as the server sent it');

/**
 * Hides tool lists and `input_required` results from the SDK. The transport must not be connected yet. Workaround for
 * the SDK 2.4.0: on a connection of the 2026 revision it ignores the schema of the caller, refuses a whole list for one
 * bad tool, and rebuilds `input_required` results from the fields that it knows.
 */
export function keepResultsUntouched(transport: Transport): void {
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
