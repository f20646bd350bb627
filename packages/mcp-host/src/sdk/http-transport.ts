import {
  type JSONRPCMessage,
  ProtocolErrorCode,
  type RequestId,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { type Authorizer, authorizedFetch } from '@signalbox/server-auth';
import type { HttpServerConfig } from '../config/server-config.ts';
import { limitsOf, maxAnswerNodes } from '../config/server-limits.ts';
import { NoticeBudget } from '../notice-budget.ts';
import { answerTooLarge } from '../too-large-answer.ts';
import { type FetchObserver, requestFetch } from './request-fetch.ts';
import { streamLost } from './sdk-failure.ts';
import { keepResultsUntouched } from './untouched-results.ts';

/** The shortest pause before a stream is opened again. A server may ask for a longer one, but not for none. */
const shortestPauseMs = 1_000;

/** The callbacks for what happens to the connection as a whole. */
export interface HttpObserver extends Omit<FetchObserver, 'onTooLarge'> {
  /** A stream that belongs to no request sent a message that is too large. */
  onStreamTooLarge(reason: string): void;
}

/** A stream that broke off is resumed if the server is back soon. After that, its calls fail instead of waiting. */
const reconnectionOptions = {
  initialReconnectionDelay: 1_000,
  maxReconnectionDelay: 5_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 2,
};

/**
 * Creates the SDK's HTTP transport. Workaround for the SDK 2.4.0: it lets a request whose response stream breaks off
 * wait until its timeout, so such a request is answered with {@link streamLost} here, and one whose answer is too large
 * with {@link answerTooLarge}.
 */
export function httpTransport(
  config: HttpServerConfig,
  observer: HttpObserver,
  now: () => number,
  authorizer?: Authorizer,
): StreamableHTTPClientTransport {
  const onTooLarge: FetchObserver['onTooLarge'] = ({ message }, request) => {
    const id = requestIdIn(request);
    if (id === undefined) observer.onStreamTooLarge(message);
    else transport.onmessage?.(errorAnswer(id, message, answerTooLarge));
  };
  const transport = new StreamableHTTPClientTransport(new URL(config.url), {
    requestInit: { headers: config.headers ?? {} },
    fetch: requestFetch(
      { ...observer, onTooLarge },
      {
        send: authorizer && authorizedFetch(authorizer),
        notices: new NoticeBudget(now),
        bounds: { bytes: limitsOf(config).answerBytes, nodes: maxAnswerNodes },
      },
    ),
    reconnectionOptions,
    reconnectionScheduler: (reconnect, delayMs) => {
      const timer = setTimeout(reconnect, Math.max(delayMs, shortestPauseMs));
      return () => clearTimeout(timer);
    },
  });
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const id = requestIdOf(message);
    if (id === undefined || options?.onRequestStreamEnd) return send(message, options);
    // After an answered request this is one more answer to an id that nobody waits for, and dropped.
    const onRequestStreamEnd = () => transport.onmessage?.(errorAnswer(id, streamLost.reason, streamLost));
    return send(message, { ...options, onRequestStreamEnd });
  };
  keepResultsUntouched(transport);
  return transport;
}

function requestIdOf(message: JSONRPCMessage | JSONRPCMessage[]): RequestId | undefined {
  return !Array.isArray(message) && 'method' in message && 'id' in message ? message.id : undefined;
}

/** Returns the id of the JSON-RPC request that an HTTP request sends; `undefined` if it sends none. */
function requestIdIn({ body }: RequestInit): RequestId | undefined {
  return typeof body === 'string' ? requestIdOf(JSON.parse(body) as JSONRPCMessage) : undefined;
}

function errorAnswer(id: RequestId, message: string, data: object): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code: ProtocolErrorCode.InternalError, message, data } };
}
