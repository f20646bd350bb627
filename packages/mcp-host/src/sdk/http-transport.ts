import {
  type JSONRPCMessage,
  ProtocolErrorCode,
  type RequestId,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { type Authorizer, authorizedFetch } from '@signalbox/server-auth';
import type { HttpServerConfig } from '../config/server-config.ts';
import { type FetchObserver, requestFetch } from './request-fetch.ts';
import { streamLost } from './sdk-failure.ts';
import { keepResultsUntouched } from './untouched-results.ts';

/** A stream that broke off is resumed if the server is back soon. After that, its calls fail instead of waiting. */
const reconnectionOptions = {
  initialReconnectionDelay: 1_000,
  maxReconnectionDelay: 5_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 2,
};

/**
 * Creates the SDK's HTTP transport. Workaround for the SDK 2.4.0: it lets a request whose response stream breaks off
 * wait until its timeout, so such a request is answered with {@link streamLost} here.
 */
export function httpTransport(
  config: HttpServerConfig,
  observer: FetchObserver,
  authorizer?: Authorizer,
): StreamableHTTPClientTransport {
  const transport = new StreamableHTTPClientTransport(new URL(config.url), {
    requestInit: { headers: config.headers ?? {} },
    fetch: requestFetch(observer, authorizer && authorizedFetch(authorizer)),
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
  keepResultsUntouched(transport);
  return transport;
}

function requestIdOf(message: JSONRPCMessage | JSONRPCMessage[]): RequestId | undefined {
  return !Array.isArray(message) && 'method' in message && 'id' in message ? message.id : undefined;
}

function lostAnswer(id: RequestId): JSONRPCMessage {
  const error = { code: ProtocolErrorCode.InternalError, message: streamLost.reason, data: streamLost };
  return { jsonrpc: '2.0', id, error };
}
