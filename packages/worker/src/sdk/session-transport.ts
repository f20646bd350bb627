import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/server';
import { type EventStream, openEventStream } from './event-stream.ts';
import { refusalResponse } from './http-refusal.ts';

type RequestId = string | number;

/** A posted request that is not answered yet. */
interface Exchange {
  /** Sends a message before the answer. Returns false if it can't: the client accepts no stream, or does not read it. */
  tell(message: JSONRPCMessage): boolean;
  answer(message: JSONRPCMessage): void;
  /** Ends the HTTP request without an answer. */
  drop(): void;
}

/**
 * One HTTP session of the revisions up to 2025-11-25 as a transport of the SDK's server.
 *
 * It stands in place of the SDK's `WebStandardStreamableHTTPServerTransport`, which answers either always with JSON or always with
 * events. This one answers with JSON until there is something to tell before the answer: a client that waits for JSON notices
 * at once when the face dies, one that waits for events may not. Checked with SDK 2.4.0; look again with the next version.
 */
export class SessionTransport implements Transport {
  onmessage?: Transport['onmessage'];
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly sessionId: string;
  readonly #exchanges = new Map<RequestId, Exchange>();
  #stream: EventStream | undefined;
  /** The announcements for which there was no stream, each once: of lists, and of resources that the client follows. */
  readonly #missed = new Map<string, JSONRPCMessage>();
  #closed = false;

  constructor(sessionId: string) {
    this.sessionId = sessionId;
  }

  /** True while a request runs or the client listens. */
  get isBusy(): boolean {
    return this.#exchanges.size > 0 || this.#stream !== undefined;
  }

  async start(): Promise<void> {}

  /** Passes a posted message to the server; `signal` aborts when the client hangs up, which cancels its request. */
  post(message: JSONRPCMessage, caller: { signal: AbortSignal; streams: boolean }): Promise<Response> {
    if (!isJSONRPCRequest(message)) {
      this.onmessage?.(message);
      this.#dropCancelled(message);
      return Promise.resolve(new Response(null, { status: 202 }));
    }
    const { id } = message;
    if (this.#exchanges.has(id)) {
      const text = `a request with the id ${JSON.stringify(id)} is running in this session already`;
      return Promise.resolve(refusalResponse({ status: 400, code: -32600, message: text }, id));
    }
    const { exchange, response } = openExchange(caller.streams);
    this.#exchanges.set(id, exchange);
    const hungUp = () => this.#cancel(id);
    caller.signal.addEventListener('abort', hungUp, { once: true });
    if (caller.signal.aborted) hungUp();
    else this.onmessage?.(message);
    return response.finally(() => caller.signal.removeEventListener('abort', hungUp));
  }

  /** Opens the stream for messages that belong to no request. A new one replaces the one before. */
  listen(signal: AbortSignal): Response {
    this.#stream?.end();
    const stream = openEventStream(() => {
      if (this.#stream === stream) this.#stream = undefined;
    });
    this.#stream = stream;
    signal.addEventListener('abort', () => stream.end(), { once: true });
    for (const message of this.#missed.values()) stream.write(message);
    this.#missed.clear();
    return stream.response;
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) {
      const { id } = message;
      if (id === undefined) return;
      const exchange = this.#exchanges.get(id);
      this.#exchanges.delete(id);
      exchange?.answer(message);
    } else if (options?.relatedRequestId !== undefined) {
      const told = this.#exchanges.get(options.relatedRequestId)?.tell(message);
      if (!told && isJSONRPCRequest(message))
        throw new Error('the client cannot be asked: it takes no stream');
    } else if (!this.#stream?.write(message)) {
      this.#missed.set(JSON.stringify(message), message);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const exchange of this.#exchanges.values()) exchange.drop();
    this.#exchanges.clear();
    this.#stream?.end();
    this.onclose?.();
  }

  /** Cancels a request as if the client had. */
  #cancel(requestId: RequestId): void {
    if (!this.#exchanges.has(requestId)) return;
    const params = { requestId, reason: 'the client hung up' };
    this.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    this.#drop(requestId);
  }

  /** Ends the HTTP request of a cancelled call, which the server never answers. */
  #dropCancelled(message: JSONRPCMessage): void {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return;
    const requestId = message.params?.requestId;
    if (typeof requestId === 'string' || typeof requestId === 'number') this.#drop(requestId);
  }

  #drop(requestId: RequestId): void {
    this.#exchanges.get(requestId)?.drop();
    this.#exchanges.delete(requestId);
  }
}

function openExchange(streams: boolean): { exchange: Exchange; response: Promise<Response> } {
  const { promise, resolve } = Promise.withResolvers<Response>();
  let stream: EventStream | undefined;
  const exchange: Exchange = {
    tell(message) {
      if (!streams) return false;
      if (!stream) {
        stream = openEventStream();
        resolve(stream.response);
      }
      return stream.write(message);
    },
    answer(message) {
      if (stream) stream.end(message);
      else resolve(Response.json(message));
    },
    drop() {
      if (stream) stream.end();
      else resolve(new Response(null, { status: 202 }));
    },
  };
  return { exchange, response: promise };
}
