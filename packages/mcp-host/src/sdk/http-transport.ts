import {
  type JSONRPCMessage,
  type JSONRPCRequest,
  ProtocolErrorCode,
  type RequestId,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { timerMs } from '@signalbox/serving';
import type { HttpServerConfig } from '../config/server-config.ts';
import { limitsOf, maxAnswerNodes } from '../config/server-limits.ts';
import { NoticeBudget } from '../notice-budget.ts';
import { type Authorizer, authorizedFetch } from '../server-auth/index.ts';
import { answerTooLarge } from '../too-large-answer.ts';
import { MarkedNumbers } from './marked-numbers.ts';
import { NoticeStream } from './notice-stream.ts';
import { type Fetch, type FetchObserver, requestFetch } from './request-fetch.ts';
import { streamLost } from './sdk-failure.ts';
import { UnansweredRequests } from './unanswered-requests.ts';
import { keepResultsUntouched } from './untouched-results.ts';

/** The shortest pause before the stream of a request is opened again. A server may ask for a longer one, but not for none. */
const shortestPauseMs = 1_000;
/** The longest time for a message that is no request, in milliseconds. A request ends with its caller’s deadline. */
const noticeMs = 30_000;

/** The callbacks for events of the connection as a whole. */
export interface HttpObserver extends Omit<FetchObserver, 'onTooLarge'> {
  /** Called when a stream that belongs to no request sent a message that is too large. */
  onStreamTooLarge(reason: string): void;
  /** Called when announcements of the server may have been lost. */
  onNoticesMissed(): void;
  /** Called when a request of a session failed. Not every server that does not know the session says so by 404 or 400. */
  onSessionDoubted(): void;
}

/** The dependencies of the transport. */
export interface HttpTransportOptions {
  /** Monotonic milliseconds. */
  now: () => number;
  /** Sends one HTTP request. It must have no deadline of its own. */
  send: Fetch;
  /** The access to a server that has `auth`. */
  authorizer?: Authorizer | undefined;
}

/** A stream that broke off is resumed if the server is back soon. After that, its calls fail instead of waiting. */
const reconnectionOptions = {
  initialReconnectionDelay: 1_000,
  maxReconnectionDelay: 5_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 2,
};

/**
 * Creates the SDK's HTTP transport. Workaround for the SDK 2.4.0: it lets a request whose response stream breaks off wait until its
 * timeout, so the request is answered with {@link streamLost} here, and one whose answer is too large with {@link answerTooLarge}.
 */
export function httpTransport(
  config: HttpServerConfig,
  observer: HttpObserver,
  { now, send: plainSend, authorizer }: HttpTransportOptions,
): StreamableHTTPClientTransport {
  const requests = new UnansweredRequests();
  const numbers = new MarkedNumbers();
  const onTooLarge: FetchObserver['onTooLarge'] = ({ message }, request) => {
    if (request === undefined) observer.onStreamTooLarge(message);
    else transport.onmessage?.(errorAnswer(request.id, message, answerTooLarge));
  };
  const fetch = requestFetch(
    { ...observer, onTooLarge },
    {
      send: authorizer ? authorizedFetch(authorizer, plainSend) : plainSend,
      request: () => requests.current,
      notices: new NoticeBudget(now),
      numbers,
      bounds: { bytes: limitsOf(config).answerBytes, nodes: maxAnswerNodes },
    },
  );
  const noticeStream = new NoticeStream(now, () => observer.onNoticesMissed());
  const isForNoRequest = () => requests.current === undefined;
  const transport = new StreamableHTTPClientTransport(new URL(config.url), {
    requestInit: { headers: config.headers ?? {} },
    fetch: async (url, init) => {
      if (!isForNoRequest()) return fetch(url, init);
      if (init?.method === 'GET') return noticeStream.open(() => fetch(url, init), init.signal);
      const response = await fetch(url, init);
      return init?.method === 'POST' && response.ok ? accepted(response) : response;
    },
    reconnectionOptions,
    reconnectionScheduler: (reconnect, delayMs) => {
      const pauseMs = isForNoRequest() ? noticeStream.nextPauseMs() : shortestPauseMs;
      const timer = setTimeout(reconnect, timerMs(Math.max(delayMs, pauseMs)));
      return () => clearTimeout(timer);
    },
  });
  const doubtSession = (): void => {
    if (transport.sessionId !== undefined) observer.onSessionDoubted();
  };
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const request = requestOf(message);
    if (request === undefined) {
      const withdrawn = withdrawnBy(message);
      const requestSignal = AbortSignal.timeout(noticeMs);
      const sent = requests.outside(() => send(message, { ...options, requestSignal }));
      return withdrawn === undefined ? sent : sent.finally(() => requests.withdraw(withdrawn));
    }
    const { id } = request;
    const onRequestStreamEnd = () => {
      const isAwaited = requests.ended(id);
      if (isAwaited) doubtSession();
      if (options?.onRequestStreamEnd) options.onRequestStreamEnd();
      else if (isAwaited) transport.onmessage?.(errorAnswer(id, streamLost.reason, streamLost));
    };
    return requests.run(request, () =>
      send(message, { ...options, onRequestStreamEnd }).catch((error: unknown) => {
        if (!requests.current?.isWithdrawn) doubtSession();
        throw error;
      }),
    );
  };
  keepResultsUntouched(transport);
  const { onmessage } = transport;
  transport.onmessage = (message: JSONRPCMessage) => {
    numbers.restore(message);
    if (!('method' in message) && message.id !== undefined) {
      const isAwaited = requests.answered(message.id);
      if (isAwaited && 'error' in message) doubtSession();
    }
    onmessage?.(message);
  };
  return transport;
}

/** Workaround for the SDK 2.4.0: it opens the stream of notices only after 202, and some servers answer notices with 200 or 204. */
async function accepted({ body }: Response): Promise<Response> {
  await body?.cancel();
  return new Response(null, { status: 202 });
}

function requestOf(message: JSONRPCMessage | JSONRPCMessage[]): JSONRPCRequest | undefined {
  return !Array.isArray(message) && 'method' in message && 'id' in message ? message : undefined;
}

/** Returns the id of the request that a message cancels; `undefined` for other messages. */
function withdrawnBy(message: JSONRPCMessage | JSONRPCMessage[]): RequestId | undefined {
  if (Array.isArray(message) || !('method' in message)) return undefined;
  return message.method === 'notifications/cancelled'
    ? (message.params?.requestId as RequestId | undefined)
    : undefined;
}

function errorAnswer(id: RequestId, message: string, data: object): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code: ProtocolErrorCode.InternalError, message, data } };
}
