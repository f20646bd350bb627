import { setTimeout as delay } from 'node:timers/promises';
import { ProtocolErrorCode } from '@modelcontextprotocol/client';
import { SignalboxError } from '@signalbox/protocol';
import type { NoticeBudget } from '../notice-budget.ts';
import { type MessageBounds, tooLargeMessage } from '../too-large-answer.ts';
import { answerOrRefusal, HttpRefusal, refusedRedirect } from './http-refusal.ts';
import type { MarkedNumbers } from './marked-numbers.ts';
import { MessageSize } from './message-size.ts';
import type { UnansweredRequest } from './unanswered-requests.ts';

/** The type of `fetch` as the SDK's transport calls it. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** The callbacks for requests whose end affects the connection. */
export interface FetchObserver {
  /** The endpoint could not be reached, or broke off before it answered. */
  onUnreachable(error: unknown): void;
  /**
   * Called when the endpoint does not know our session any more. `streaming`: it refused a stream, so no answer will come on any stream.
   */
  onSessionRefused(streaming: boolean): void;
  /** Called when we may not use the endpoint: `needs_auth` or `auth_failed`. The request was not run. */
  onUnauthorized(error: SignalboxError): void;
  /**
   * Called when a response is too large, or a message in it. The rest of it is not read. `request` is absent if the response answers none.
   */
  onTooLarge(error: SignalboxError, request: UnansweredRequest | undefined): void;
}

/** The callbacks of a {@link requestFetch}, and the bounds of one message after decompression. */
export interface RequestFetchOptions {
  send: Fetch;
  /** Returns the JSON-RPC request that the running code sends, if it sends one. */
  request: () => UnansweredRequest | undefined;
  bounds: MessageBounds;
  /** Marks the exact numbers of all bodies. */
  numbers: MarkedNumbers;
  /** Counts the events of all streams. Streams of an endpoint that sends too many are read more slowly. */
  notices: NoticeBudget;
}

/** An event stream is handed on in pieces of this many bytes, so that each piece has few events. */
const pieceBytes = 8 * 1024;

/**
 * Returns a `fetch` with an AbortController for each request, which is released when the response has been read to its
 * end. It reads no message that is larger than the bounds after decompression. The stream of a request that was given up
 * ends with an answer that nobody waits for, because the SDK would resume one without. Workaround for the SDK 2.4.0: it
 * passes one signal for the life of the transport, on which plain `fetch` piles up listeners.
 */
export function requestFetch(
  observer: FetchObserver,
  { send, request: requestNow, bounds, numbers, notices }: RequestFetchOptions,
): Fetch {
  let streamed = false;
  return async (url, init = {}) => {
    const controller = new AbortController();
    const request = requestNow();
    request?.onWithdrawn(() => controller.abort());
    if (request?.isWithdrawn) controller.abort();
    const outer = init.signal;
    const abort = () => controller.abort(outer?.reason);
    const release = () => outer?.removeEventListener('abort', abort);
    if (outer?.aborted) abort();
    outer?.addEventListener('abort', abort, { once: true });
    try {
      const sent = await send(url, { ...init, signal: controller.signal });
      const streaming = init.method === 'GET';
      const redirect = init.method === 'POST' ? refusedRedirect(url, sent) : undefined;
      if (redirect) {
        await sent.body?.cancel();
        throw redirect;
      }
      const isError = request !== undefined && init.method === 'POST' && sent.status >= 400;
      const response = isError ? await answerOrRefusal(sent, request, bounds) : sent;
      // A server that answers the request knows its session.
      const isAnswered = isError && (response instanceof Response || response.failure.kind === 'answered');
      if (!isAnswered && isSessionRefusal(sent.status, new Headers(init.headers), !streaming || streamed)) {
        observer.onSessionRefused(streaming);
      }
      if (response instanceof HttpRefusal) throw response;
      if (streaming && response.ok) streamed = true;
      const size = new MessageSize(response.headers.get('content-type'), bounds);
      if (request && size.isEventStream) request.isStreamed = true;
      return readThrough(response, {
        lastPiece: () => (request?.isWithdrawn && size.isEventStream ? answerToNobody(request) : undefined),
        onEnd: release,
        change: numbers.marker(size.isEventStream),
        pieceBytes: size.isEventStream ? pieceBytes : Number.POSITIVE_INFINITY,
        check: (piece) => {
          if (isCompressedTwice(response)) throw compressedTwice();
          const before = size.events;
          const exceeded = size.add(piece);
          if (exceeded) {
            const error = new SignalboxError('result_too_large', tooLargeMessage(exceeded, bounds));
            observer.onTooLarge(error, request);
            throw error;
          }
          // The first event of a stream usually answers its request.
          const further = Math.max(0, size.events - Math.max(before, 1));
          return further === 0 ? 0 : notices.spend(further, piece.length);
        },
      });
    } catch (error) {
      release();
      if (isRefusal(error)) observer.onUnauthorized(error);
      else if (!controller.signal.aborted && !(error instanceof HttpRefusal)) observer.onUnreachable(error);
      throw error;
    }
  };
}

/** The caller's own reason to give up may be a `SignalboxError`, too. */
function isRefusal(error: unknown): error is SignalboxError {
  return error instanceof SignalboxError && (error.code === 'needs_auth' || error.code === 'auth_failed');
}

/**
 * The specification asks for 404; several servers answer 400 to a session that they do not know. A refused first GET says nothing about the
 * session, only that the server lists no stream.
 */
function isSessionRefusal(status: number, request: Headers, servedBefore: boolean): boolean {
  if (status !== 404 && status !== 400) return false;
  return request.has('mcp-session-id') && (servedBefore || request.has('last-event-id'));
}

/** A server that compresses an answer more than once only wants to make a small answer expand hugely. */
function isCompressedTwice({ headers }: Response): boolean {
  return headers.get('content-encoding')?.includes(',') === true;
}

function compressedTwice(): SignalboxError {
  return new SignalboxError('server_failed', 'the server compressed its answer more than once');
}

/** Returns the event that answers a request which was given up. The text ends a cut-off event first. */
function answerToNobody({ id }: UnansweredRequest): Uint8Array {
  const error = { code: ProtocolErrorCode.InternalError, message: 'the request was given up' };
  return new TextEncoder().encode(`\n\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, error })}\n\n`);
}

interface ReadThroughOptions {
  /** The most bytes that are handed on at once. */
  pieceBytes: number;
  /** Takes a piece of the body, and throws to refuse the rest. Returns the milliseconds to wait before the piece is handed on. */
  check: (piece: Uint8Array) => number;
  /** Takes a checked piece, and at last `undefined`. Returns the bytes to hand on. */
  change: (piece: Uint8Array | undefined) => Uint8Array;
  /** Called when the body has ended. */
  onEnd: () => void;
  /** Returns the piece that ends a failed body in place of an error, if there is one. */
  lastPiece: () => Uint8Array | undefined;
}

/** Returns the response with a body that is checked piece by piece while it is read. */
function readThrough(
  response: Response,
  { pieceBytes, check, change, onEnd: release, lastPiece }: ReadThroughOptions,
): Response {
  if (!response.body) {
    release();
    return response;
  }
  const reader = response.body.getReader();
  let rest: Uint8Array = new Uint8Array();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        // The stream asks again only after it was given something.
        for (let changed: Uint8Array = new Uint8Array(); changed.length === 0; ) {
          if (rest.length === 0) {
            const { done, value } = await reader.read();
            if (done) {
              release();
              controller.enqueue(change(undefined));
              controller.close();
              return;
            }
            rest = value;
          }
          const piece = rest.subarray(0, pieceBytes);
          rest = rest.subarray(piece.length);
          const waitMs = check(piece);
          if (waitMs > 0) await delay(waitMs);
          changed = change(piece);
          if (changed.length > 0) controller.enqueue(changed);
        }
      } catch (error) {
        release();
        reader.cancel(error).catch(() => {});
        const last = lastPiece();
        if (!last) return controller.error(error);
        controller.enqueue(change(undefined));
        controller.enqueue(last);
        controller.close();
      }
    },
    cancel(reason) {
      release();
      return reader.cancel(reason);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
}
