import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import { JsonRpcError, resourceNotFound } from '../tools/json-rpc-error.ts';

/** The property of an error's data that holds the error as it is to be sent. */
const asThrown = Symbol('error as it is to be sent');

/**
 * Returns an error that a server may throw so that {@link keepCodes} sends it with its own code. Workaround for the SDK 2.4.0: it replaces
 * -32002, which the revisions up to 2025-11-25 use for an unknown resource.
 */
export function withOwnCode(thrown: unknown): unknown {
  if (!(thrown instanceof JsonRpcError) || thrown.code !== resourceNotFound) return thrown;
  return new JsonRpcError(thrown.code, thrown.message, { [asThrown]: thrown });
}

/** Makes a transport send the errors of {@link withOwnCode} as they were thrown. */
export function keepCodes(transport: Transport): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => send(restored(message), options);
}

function restored(message: JSONRPCMessage): JSONRPCMessage {
  if (!('error' in message)) return message;
  const thrown = (message.error.data as { [asThrown]?: JsonRpcError } | undefined)?.[asThrown];
  if (!thrown) return message;
  const { code, message: text, data } = thrown;
  return { ...message, error: { code, message: text, ...(data !== undefined && { data }) } };
}
