import type { JSONRPCMessage, RequestId, Transport } from '@modelcontextprotocol/client';
import { isInputRequired } from '@signalbox/protocol';
import { rawError, retiredNotFound } from './raw-error.ts';

/** The property of a `tools/list` result that holds the tools as the server sent them. */
export const rawTools = Symbol('tools as the server sent them');

/** The property of a result that holds the result as the server sent it. */
export const rawResult = Symbol('result as the server sent it');

/** Valid results of the methods whose results are hidden whole. */
const standIns: Readonly<Record<string, object>> = {
  'prompts/list': { prompts: [] },
  'resources/list': { resources: [] },
  'resources/templates/list': { resourceTemplates: [] },
  'resources/read': { contents: [] },
  'prompts/get': { messages: [] },
  'completion/complete': { completion: { values: [] } },
  'tools/call': { content: [] },
};
const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };

/**
 * Hides lists, contents of resources, and results of calls from the SDK. The transport must not be connected yet. Workaround for the SDK
 * 2.4.0: on a connection of the 2026 revision it ignores the caller's schema, refuses a whole list for one bad entry and a whole result for
 * one type of content that it does not know, and rebuilds results from the fields that it knows. It also replaces an error code of earlier
 * revisions, which is kept in the error's data here.
 */
export function keepResultsUntouched(transport: Transport): void {
  const asked = new Map<RequestId, string>();
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const isHidden =
      'method' in message &&
      'id' in message &&
      (message.method === 'tools/list' || Object.hasOwn(standIns, message.method));
    if (isHidden) asked.set(message.id, message.method);
    return send(message, options);
  };
  transport.onmessage = (message: JSONRPCMessage) => {
    if ('method' in message || message.id === undefined) return;
    const method = asked.get(message.id);
    asked.delete(message.id);
    if ('error' in message) {
      const { code, data } = message.error;
      if (code === retiredNotFound) message.error.data = { [rawError]: { code, data } };
      return;
    }
    const result: Record<PropertyKey, unknown> = message.result;
    if (method === 'tools/list' && Array.isArray(result.tools)) {
      result[rawTools] = result.tools;
      result.tools = [];
    } else if (method === 'tools/call' && !isKnownKind(result)) {
      // The SDK refuses this result.
      return;
    } else if (method !== undefined && Object.hasOwn(standIns, method)) {
      Object.assign(message, { result: { ...complete, ...standIns[method], [rawResult]: result } });
    } else if (method === undefined && isInputRequired(result)) {
      Object.assign(message, { result: { resultType: 'complete', content: [], [rawResult]: result } });
    }
  };
}

function isKnownKind({ resultType }: Record<PropertyKey, unknown>): boolean {
  return resultType === undefined || resultType === 'complete' || resultType === 'input_required';
}
