import {
  type JSONRPCMessage,
  ProtocolErrorCode,
  type RequestId,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import type { Authorizer } from '@signalbox/server-auth';
import type { HttpServerConfig } from '../config/server-config.ts';
import { authorizedFetch } from './authorized-fetch.ts';
import { type FetchWatch, requestFetch } from './request-fetch.ts';
import { setResultsAside } from './untouched-results.ts';

/** The `data` of the error that stands for an answer which can't come any more. Compared by identity: no server can send it. */
export const streamLost = { reason: 'the response stream ended without an answer' };

// A stream that broke off is resumed if the server is soon back; a call must not hang on one that is not.
const reconnectionOptions = {
  initialReconnectionDelay: 1_000,
  maxReconnectionDelay: 5_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 2,
};

/** The SDK's transport, made to fail a request whose response stream breaks off and to let one bad tool through to us. */
export function httpTransport(
  config: HttpServerConfig,
  watch: FetchWatch,
  authorizer?: Authorizer,
): StreamableHTTPClientTransport {
  const transport = new StreamableHTTPClientTransport(new URL(config.url), {
    requestInit: { headers: config.headers ?? {} },
    fetch: requestFetch(watch, authorizer && authorizedFetch(authorizer)),
    reconnectionOptions,
  });
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const id = requestIdOf(message);
    if (id === undefined || options?.onRequestStreamEnd) return send(message, options);
    // After an answered request this is one more answer to an id that nobody waits for, and dropped.
    const onRequestStreamEnd = () => transport.onmessage?.(lostAnswer(id));
    return send(message, { ...options, onRequestStreamEnd });
  };
  setResultsAside(transport);
  return transport;
}

function requestIdOf(message: JSONRPCMessage | JSONRPCMessage[]): RequestId | undefined {
  return !Array.isArray(message) && 'method' in message && 'id' in message ? message.id : undefined;
}

function lostAnswer(id: RequestId): JSONRPCMessage {
  const error = { code: ProtocolErrorCode.InternalError, message: streamLost.reason, data: streamLost };
  return { jsonrpc: '2.0', id, error };
}
